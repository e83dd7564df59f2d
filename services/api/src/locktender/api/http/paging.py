"""Cursors: where a list goes on. Opaque, signed, and good for exactly the list that they came from."""

import base64
import binascii
import hashlib
import hmac
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from uuid import UUID

from locktender.api.http.problems import ProblemError
from locktender.contracts.kernel.problems import Problem
from locktender.storage.deployments.reads import Position

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_TAG = 16
_LENGTH = 8 + 16 + _TAG


class Cursors:
    """Makes and reads cursors. `key` is secret; who has another key gets `invalid-cursor`."""

    def __init__(self, key: bytes) -> None:
        self._key = hmac.digest(key, b"locktender/cursor/1", hashlib.sha256)

    def make(self, position: Position, listing: Sequence[str]) -> str:
        """A cursor after `position` of the list that `listing` describes (workspace and filters)."""
        micros = (position.created_at - _EPOCH) // _MICROSECOND
        place = micros.to_bytes(8, signed=True) + position.id.bytes
        return _spelled(place + self._tag(place, listing))

    def read(self, cursor: str, listing: Sequence[str]) -> Position:
        """The position in a cursor.

        Raises:
            ProblemError: it is not ours, or belongs to another list.
        """
        try:
            raw = base64.b64decode(cursor.encode("ascii") + b"=" * (-len(cursor) % 4), altchars=b"-_", validate=True)
        except (binascii.Error, ValueError):
            raw = b""
        place, tag = raw[:-_TAG], raw[-_TAG:]
        # One position has one spelling: bits that decoding drops, and other alphabets, are tampering as well.
        as_made = len(raw) == _LENGTH and _spelled(raw) == cursor
        if not as_made or not hmac.compare_digest(tag, self._tag(place, listing)):
            raise ProblemError(
                Problem.INVALID_CURSOR, "start again without a cursor; one is good for the same filters only"
            )
        created_at = _EPOCH + int.from_bytes(place[:8], signed=True) * _MICROSECOND
        return Position(created_at, UUID(bytes=place[8:]))

    def _tag(self, place: bytes, listing: Sequence[str]) -> bytes:
        parts = b"".join(len(part.encode()).to_bytes(4) + part.encode() for part in listing)
        return hmac.digest(self._key, place + parts, hashlib.sha256)[:_TAG]


def _spelled(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()
