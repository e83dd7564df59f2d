"""Where the objects of stacks lie, and whose an object is. Pure."""

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import Final
from uuid import UUID


class Family(StrEnum):
    """What an object is, as its name begins."""

    LOG = "logs"
    """A piece of what a run said."""
    RECORD = "runs"
    """The analysis of a run, or its summary."""
    SOURCE = "sources"
    """An archive that somebody uploaded, under its SHA-256."""
    STATE = "states"
    """A version of a state."""
    WORK = "work"
    """A plan file, for the apply of the same deployment."""


@dataclass(frozen=True, slots=True)
class RunPlace:
    """The folders of a run."""

    workspace: str
    stack_id: UUID
    run_id: UUID

    def folder(self, family: Family) -> str:
        """Where its objects of a family are: logs, records or work."""
        return f"{family}/{self.workspace}/{self.stack_id}/{self.run_id}"


def source_place(workspace: str, stack_id: UUID, sha256: str) -> str:
    """The name of an uploaded archive."""
    return f"{Family.SOURCE}/{workspace}/{stack_id}/{sha256}.tar.gz"


def state_place(stack_id: UUID, version_id: UUID) -> str:
    """The name of a version of a state."""
    return f"{Family.STATE}/{stack_id}/{version_id}"


@dataclass(frozen=True, slots=True)
class Origin:
    """Whose an object is.

    Attributes:
        key: the run, the version of the state, or the SHA-256 of the archive.
    """

    family: Family
    stack_id: UUID
    key: str


_UUID = "[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
_SHAPES: Final = (
    re.compile(rf"(logs)/[^/]+/({_UUID})/({_UUID})/[0-9]{{12}}", re.ASCII),
    re.compile(rf"(runs)/[^/]+/({_UUID})/({_UUID})/(?:analysis|plan-summary)\.json", re.ASCII),
    re.compile(rf"(sources)/[^/]+/({_UUID})/([0-9a-f]{{64}})\.tar\.gz", re.ASCII),
    re.compile(rf"(states)/({_UUID})/({_UUID})", re.ASCII),
    re.compile(rf"(work)/[^/]+/({_UUID})/({_UUID})/plan\.tfplan", re.ASCII),
)


def origin_of(name: str) -> Origin | None:
    """Whose the object of this name is. None: its name is none of ours, so that nothing can be said of it."""
    for shape in _SHAPES:
        found = shape.fullmatch(name)
        if found is not None:
            return Origin(Family(found[1]), UUID(found[2]), found[3])
    return None
