"""Idempotency keys, and the digests by which a repeated request is told from another one.

A digest is at rest, and so may not help anybody to guess what was secret in the request: a plain hash of a short
password would. Hence two halves. The public half is SHA-256 over what is stored in clear anyway. The secret half is
HMAC-SHA-256 over the credentials and Secret values, under a key that never reaches the database; four bytes name that
key. Requests are compared by both halves while the key is the same, by the public half alone after it has changed.
"""

import hashlib
import hmac
import re

from locktender.contracts.kernel.errors import Finding, Pointer, Rejected

_KEY = re.compile(r"[\x21-\x7e]{1,255}")
_VERSION = b"\x01"
_PUBLIC = slice(5, 37)
NO_DIGEST = b""
"""Stored for requests without an idempotency key: nothing will ever be compared."""


class Digests:
    """Digests under one key."""

    def __init__(self, key: bytes) -> None:
        self._key = hmac.digest(key, b"locktender/request/1", hashlib.sha256)
        self._name = hmac.digest(self._key, b"name", hashlib.sha256)[:4]

    def make(self, public: bytes, secret: bytes) -> bytes:
        """The digest of a request; `public` holds nothing secret."""
        halves = hashlib.sha256(public).digest() + hmac.digest(self._key, secret, hashlib.sha256)
        return _VERSION + self._name + halves

    def same(self, stored: bytes, fresh: bytes) -> bool:
        """Whether the two come from equal requests, as far as that can still be told."""
        if stored[:5] == fresh[:5]:
            return hmac.compare_digest(stored, fresh)
        return stored[:1] == _VERSION and hmac.compare_digest(stored[_PUBLIC], fresh[_PUBLIC])


def idempotency_key(header: str | None) -> str | None:
    """The key that a request brings, if any.

    Raises:
        Rejected: it is not 1 to 255 visible ASCII characters.
    """
    if header is None or _KEY.fullmatch(header):
        return header
    message = "the Idempotency-Key header has to be 1 to 255 visible ASCII characters, without spaces"
    raise Rejected([Finding(Pointer(""), message, "invalid-idempotency-key")])
