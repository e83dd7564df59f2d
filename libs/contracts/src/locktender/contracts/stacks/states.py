"""The versions of a stack's state, as people are shown them. The content is Terraform's, and is passed on as it is."""

from datetime import datetime
from typing import Literal
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

StateOrigin = Literal["run", "import", "rollback", "push"]


class StateWire(BaseModel):
    """A JSON object about states: camelCase, immutable."""

    model_config = ConfigDict(defer_build=True, alias_generator=to_camel, populate_by_name=True, frozen=True)


class StateVersion(StateWire):
    """One version of a state, without its content."""

    id: UUID
    serial: int
    lineage: str
    sha256: str = Field(description="Of the content, hex.")
    size: int = Field(description="Bytes of the content.")
    origin: StateOrigin
    run_id: UUID | None = Field(default=None, description="The run that wrote it; None where a person did.")
    created_by: str
    created_at: datetime
    current: bool


class HeldStateLock(StateWire):
    """Who holds the lock of a state, as the engine said it."""

    id: str
    operation: str = ""
    who: str = ""
    run_id: UUID | None = None
    locked_at: datetime


class StateVersionPage(StateWire):
    """Versions, newest first."""

    versions: tuple[StateVersion, ...]
    next_cursor: str | None = None
    lock: HeldStateLock | None = None


class UnlockState(StateWire):
    """Whose lock is to be broken: the one that was seen, and no other."""

    model_config = ConfigDict(
        defer_build=True, alias_generator=to_camel, populate_by_name=True, frozen=True, extra="forbid"
    )

    lock_id: str = Field(min_length=1, max_length=200)
