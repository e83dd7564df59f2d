"""Deployments as files: manifests, and above them in a comment what has to come of them and what goes wrong meanwhile.

# about: an image that nobody has pushed
# verdict: failed
# reason: resource-failed
# blames: Deployment web
# says: [cannot be pulled]
# within: 60

apiVersion: apps/v1
...
"""

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, cast

import yaml

Verdict = Literal["completed", "failed", "refused"]

_HEADER = re.compile(r"(?:#[^\n]*\n)+")
_NAMES = {"yaml", "json"}


@dataclass(frozen=True, slots=True)
class Case:
    """One deployment and what is expected of it.

    Attributes:
        name: of the file, without its ending.
        text: the manifests, with the comment: it is YAML too. For a case with `body`, what that says.
        about: one line.
        origin: where the manifests come from, if somebody else wrote them, and under which licence.
        verdict: `refused` is a refusal of the text itself, before anything is sent.
        reason: the failure's reason; for a refused text the code of a finding.
        blames: `Kind name` of the object that is at fault, "" when it is none.
        says: what the message contains, without regard to case.
        hints: what the failure's detail contains.
        never: what no text of the run contains.
        within: seconds of cluster time from start to end.
        after: at least so many.
        before: files that were deployed one after the other before, each to the end.
        present: files that somebody else, with kubectl, has applied before.
        deleted: paths of objects whose deletion somebody else has asked for then.
        answers: what controllers that the sandbox lacks say: a `status` for a `path`, from the second `at` on.
        trouble: fault tables, each from the second `at` on.
        account: a bearer other than the administrator, as the sandbox makes them.
        cluster: `up`, or `down` for an address that refuses connections.
        options: apply options.
        expects: status of cards by `Kind name`, besides the blamed.
    """

    name: str
    text: str = field(repr=False)
    about: str = ""
    origin: str = ""
    verdict: Verdict = "completed"
    reason: str = ""
    blames: str = ""
    says: tuple[str, ...] = ()
    hints: tuple[str, ...] = ()
    never: tuple[str, ...] = ()
    within: float = 120.0
    after: float = 0.0
    before: tuple[str, ...] = ()
    present: tuple[str, ...] = ()
    deleted: tuple[str, ...] = ()
    answers: tuple[dict[str, Any], ...] = ()
    trouble: tuple[dict[str, Any], ...] = ()
    account: dict[str, Any] | None = None
    cluster: Literal["up", "down"] = "up"
    options: dict[str, Any] = field(default_factory=dict[str, Any])
    expects: dict[str, str] = field(default_factory=dict[str, str])


def read_cases(folder: Path) -> list[Case]:
    """Every case of a folder, by name. Raises ValueError for a comment that is not understood."""
    files = sorted(file for file in folder.iterdir() if file.suffix[1:] in _NAMES)
    return [read_case(file) for file in files]


def read_case(file: Path) -> Case:
    """One case. A file without a comment at its top is a good deployment."""
    text = file.read_bytes().decode("utf-8", errors="surrogateescape")
    header = _HEADER.match(text)
    said = {} if header is None else _expectations(header.group(), file)
    for name in ("says", "hints", "never", "before", "present", "deleted", "answers", "trouble"):
        if name in said:
            said[name] = tuple(said[name])
    unknown = said.keys() - Case.__dataclass_fields__.keys()
    if unknown:
        raise ValueError(f"{file.name}: what is {', '.join(sorted(unknown))}?")
    # The comment keeps its lines, so that the lines of findings are the file's.
    return Case(name=file.stem, text=text, **said)


def _expectations(header: str, file: Path) -> dict[str, Any]:
    lines = [line.removeprefix("#").removeprefix(" ") for line in header.splitlines()]
    found: Any = yaml.safe_load("\n".join(lines))
    if not isinstance(found, dict):
        raise ValueError(f"{file.name}: the comment at the top is not a table")  # noqa: TRY004 - of a file's content
    return cast("dict[str, Any]", found)
