"""What has to be known of a state file: its lineage and serial. The rest is the engine's, and stays as it is."""

import base64
import hashlib
import json
from dataclasses import dataclass
from functools import partial
from typing import cast
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from locktender.api.http.problems import ProblemError
from locktender.contracts.kernel.errors import Finding, Pointer, Rejected
from locktender.contracts.kernel.ids import new_id
from locktender.contracts.kernel.problems import Problem
from locktender.integrations.machine.threads import in_thread
from locktender.integrations.objects.places import state_place
from locktender.storage.stacks.states import NewState

_SPACES = " \t\n\r"


class _Head(BaseModel):
    model_config = ConfigDict(defer_build=True, extra="ignore", strict=True)

    serial: int = Field(ge=0, lt=2**63)
    lineage: str = Field(min_length=1, max_length=200, pattern=r"^[\x21-\x7e]+$")


@dataclass(frozen=True, slots=True)
class StateContent:
    """A state file, and what it says of itself."""

    data: bytes
    serial: int
    lineage: str
    sha256: str

    def placed(self, stack_id: UUID) -> NewState:
        """A version with this content, under a name of its own in the object store."""
        key = new_id()
        return NewState(key, self.serial, self.lineage, state_place(stack_id, key), self.sha256, len(self.data))


async def read_state(data: bytes) -> StateContent:
    """The state file in `data`.

    Raises:
        Rejected: it is none.
    """
    return await in_thread(partial(_read, data))


async def with_serial(data: bytes, serial: int) -> StateContent:
    """The same state under another serial; not one other byte is changed.

    Raises:
        ProblemError: the engine has encrypted it, so that its serial cannot be changed from outside.
        Rejected: it is no state file.
    """
    return await in_thread(partial(_renumbered, data, serial))


def check_md5(data: bytes, header: str | None) -> None:
    """Compare with the `Content-MD5` that an engine sends.

    Raises:
        Rejected: the body was altered on its way.
    """
    if header is None:
        return
    digest = hashlib.md5(data, usedforsecurity=False).digest()
    if header.strip() != base64.b64encode(digest).decode():
        raise _rejected("the body is not what its Content-MD5 header says; send it again", "digest-mismatch")


def _read(data: bytes) -> StateContent:
    try:
        head = _Head.model_validate_json(data)
    except ValidationError:
        raise _rejected("the body has to be a state file: JSON with a lineage and a serial", "not-a-state") from None
    return StateContent(data, head.serial, head.lineage, hashlib.sha256(data).hexdigest())


def _renumbered(data: bytes, serial: int) -> StateContent:
    # Read and written again as JSON, numbers would not survive: the place of the serial is looked up instead.
    text = data.decode()
    members = _members(text)
    if "encrypted_data" in members:
        detail = "this version is encrypted by the engine, which has to push it itself: its serial cannot be changed"
        raise ProblemError(Problem.STATE_CONFLICT, detail)
    start, end = members["serial"]
    return _read(f"{text[:start]}{serial}{text[end:]}".encode())


def _members(text: str) -> dict[str, tuple[int, int]]:
    """Where the value of each member of a JSON object stands."""
    decoder = json.JSONDecoder()
    found: dict[str, tuple[int, int]] = {}
    at = _past(text, _past(text, 0) + 1)
    while text[at] != "}":
        name, at = decoder.raw_decode(text, at)
        start = _past(text, _past(text, at) + 1)
        _, at = decoder.raw_decode(text, start)
        found[cast("str", name)] = (start, at)
        at = _past(text, at)
        if text[at] == ",":
            at = _past(text, at + 1)
    return found


def _past(text: str, at: int) -> int:
    while text[at] in _SPACES:
        at += 1
    return at


def _rejected(message: str, code: str) -> Rejected:
    return Rejected([Finding(Pointer(""), message, code)])
