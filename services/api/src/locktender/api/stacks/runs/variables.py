"""The variables of a stack, opened for a run, and the digest by which a confirmation recognises them."""

import hashlib
import hmac
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal
from uuid import UUID

from locktender.integrations.objects.cipher import Cipher
from locktender.integrations.objects.keys import KeyRing
from locktender.storage.kernel.database import Row

VariableKind = Literal["variable", "environment", "token", "token-file"]


@dataclass(frozen=True, slots=True)
class OpenVariable:
    """One value in clear. `sensitive`: it leaves this process sealed, and in no other way. Of a token: its audience."""

    kind: VariableKind
    name: str
    value: str
    sensitive: bool

    def __repr__(self) -> str:
        return f"OpenVariable({self.kind}/{self.name})"


def digest_key(ring: KeyRing) -> bytes:
    """The key of the digests. After a rotation of the ring digests differ, and what was planned is planned again."""
    return hmac.digest(ring.current[1], b"locktender/variables/1", hashlib.sha256)


def open_variables(cipher: Cipher, stack_id: UUID, rows: Iterable[Row]) -> list[OpenVariable]:
    """The values of a stack's rows.

    Raises:
        ObjectUnreadable: one was sealed with a key that is not here, or was altered.
    """
    return [_opened(cipher, stack_id, row) for row in rows]


def variables_digest(key: bytes, values: Sequence[OpenVariable]) -> str:
    """HMAC-SHA-256, in hex, over all names, kinds and values. Without the key it says nothing about any of them.

    Whether a value is sensitive is no part of it: that changes what is shown, and not what is planned.
    """
    listed = sorted((each.kind, each.name, each.value) for each in values)
    return hmac.new(key, json.dumps(listed).encode(), hashlib.sha256).hexdigest()


def place_of(stack_id: UUID, kind: str, name: str) -> str:
    """What a sensitive value is sealed for."""
    return f"variable/{stack_id}/{kind}/{name}"


def _opened(cipher: Cipher, stack_id: UUID, row: Row) -> OpenVariable:
    if row["sealed"] is None:
        return OpenVariable(row["kind"], row["name"], row["value"], sensitive=False)
    plain = cipher.open(place_of(stack_id, row["kind"], row["name"]), row["sealed"]).decode()
    return OpenVariable(row["kind"], row["name"], plain, sensitive=True)


def script_place(deployment_id: UUID) -> str:
    """What the script of a deployment is sealed for."""
    return f"script/{deployment_id}"
