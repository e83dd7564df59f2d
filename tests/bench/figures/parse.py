"""`parse`: manifests read from text, and held against what a cluster has, by one thread and without any I/O.

The planning is its pure half: the autoscalers of the source, what is to be sent of each document, and the field diff to
an older state of it. What a cluster says to a dry run is not in it.
"""

import time
from pathlib import Path

from locktender.integrations.kube.desired import Autoscalers, desired
from locktender.integrations.kube.diff import field_diff
from locktender.integrations.kube.json_value import JsonObject, as_object, copied
from locktender.integrations.kube.manifests import Manifest, parse_manifests
from locktender.testkit.dialect.typical import deployments
from tests.bench.report import Figure, note, rounded, scaled

_DOCUMENTS = 1_000
_ROUNDS = 5
_BOUTIQUE = Path(__file__).parents[3] / "examples" / "online-boutique.yaml"


async def measure() -> Figure:
    """The best of several rounds over generated Deployments, since only noise makes a round slower."""
    text, real = deployments(int(scaled(_DOCUMENTS))), _BOUTIQUE.read_text(encoding="utf-8")
    manifests = parse_manifests(text)
    live = [_older(manifest.body) for manifest in manifests]
    parsing = min(_seconds(text) for _ in range(_ROUNDS))
    boutique = min(_seconds(real) for _ in range(_ROUNDS * 4))
    planning = min(_planned(manifests, live) for _ in range(_ROUNDS))
    note(f"{len(manifests)} documents parsed in {parsing:.3f} s and planned in {planning:.3f} s")
    return Figure(
        "parse", len(manifests) / (parsing + planning), "documents/s",
        rest={
            "n": len(manifests), "rounds": _ROUNDS,
            "details": {
                "parse_only": rounded(len(manifests) / parsing), "plan_only": rounded(len(manifests) / planning),
                "online_boutique_parse_only": rounded(len(parse_manifests(real)) / boutique),
                "megabytes": rounded(len(text) / 1e6),
            },
        },
    )  # fmt: skip


def _older(body: JsonObject) -> JsonObject:
    """What a cluster may have: the same object with other replicas and another label."""
    older = as_object(copied(body))
    as_object(older["spec"])["replicas"] = 1
    as_object(as_object(older["metadata"])["labels"])["release"] = "previous"
    return older


def _seconds(text: str) -> float:
    """Processor time, which other processes lengthen less."""
    began = time.process_time()
    parse_manifests(text)
    return time.process_time() - began


def _planned(manifests: list[Manifest], live: list[JsonObject]) -> float:
    began = time.process_time()
    autoscalers = Autoscalers.among([manifest.body for manifest in manifests], "default")
    changes = 0
    for manifest, older in zip(manifests, live, strict=True):
        wanted = desired(manifest.body, live=older, autoscalers=autoscalers)
        changes += len(field_diff(older, wanted.body).changes)
    assert changes >= len(manifests), "every document has changes"
    return time.process_time() - began
