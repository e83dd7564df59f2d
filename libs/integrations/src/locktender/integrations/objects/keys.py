"""The keys that encrypt what is at rest: one current, and older ones that can still open."""

import binascii
import secrets
from base64 import b64decode, urlsafe_b64encode
from collections.abc import Sequence
from hashlib import sha256

_KEY_BYTES = 32
ID_BYTES = 4


class KeyRing:
    """Keys by their ids. The first encrypts; all of them decrypt.

    To rotate, put a new key first and keep the old ones until nothing is left that they sealed. Neither `repr` nor any
    error shows a key.
    """

    def __init__(self, keys: Sequence[bytes]) -> None:
        """Take `keys` of 32 bytes each.

        Raises:
            ValueError: there is none, one has another length, or two have the same id (such as a key given twice).
        """
        if not keys:
            raise ValueError("give at least one encryption key")
        if any(len(key) != _KEY_BYTES for key in keys):
            raise ValueError(f"an encryption key is {_KEY_BYTES} bytes long")
        self._keys = {key_id(key): key for key in keys}
        if len(self._keys) != len(keys):
            raise ValueError("two encryption keys have the same id; give each key once, or replace one of them")
        self._current = key_id(keys[0])

    @classmethod
    def parse(cls, text: str) -> "KeyRing":
        """Read the setting: base64 (either alphabet) of 32 bytes each, separated by commas, the current key first.

        Raises:
            ValueError: it is something else; the message repeats nothing of it.
        """
        return cls([_decoded(part.strip()) for part in text.split(",")])

    @property
    def current(self) -> tuple[bytes, bytes]:
        """Id and key for what is encrypted now."""
        return self._current, self._keys[self._current]

    def find(self, identity: bytes) -> bytes | None:
        """The key of this id, or None when it is not in the ring."""
        return self._keys.get(identity)

    def __repr__(self) -> str:
        ids = ", ".join(identity.hex() for identity in self._keys)
        return f"KeyRing({ids})"


def key_id(key: bytes) -> bytes:
    """Four bytes that tell keys apart and give nothing of them away."""
    return sha256(key).digest()[:ID_BYTES]


def new_key_text() -> str:
    """A fresh random key, as the setting takes it."""
    return urlsafe_b64encode(secrets.token_bytes(_KEY_BYTES)).decode("ascii")


def _decoded(text: str) -> bytes:
    try:
        return b64decode(text.replace("-", "+").replace("_", "/"), validate=True)
    except (binascii.Error, ValueError):
        raise ValueError("an encryption key is written as base64 of 32 bytes; keys are separated by commas") from None
