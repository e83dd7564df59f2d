"""Bytes sealed for rest: AES-256-GCM, bound to the place that they are for."""

import secrets
from typing import Final

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from locktender.integrations.objects.errors import ObjectUnreadable, Unreadable
from locktender.integrations.objects.keys import ID_BYTES, KeyRing

_VERSION = b"\x01"
_NONCE = 12
_TAG = 16
_HEAD = len(_VERSION) + ID_BYTES
OVERHEAD: Final = _HEAD + _NONCE + _TAG
"""Bytes by which sealing makes longer."""


class Cipher:
    """Seals and opens values. Sealed bytes are: version (1), key id (4), nonce (12), ciphertext with its tag (16).

    Guaranteed: what `open` returns was given to `seal` with the same `aad` and a key of the ring, unchanged. The
    version and the key id are authenticated too.

    Not guaranteed: freshness. Older sealed bytes that are put back in the same place do open, so that whoever needs to
    know checks a digest kept elsewhere. Nonces are random, so a key must seal fewer than 2**32 values; rotate before.

    Both are plain computations (about a second for a gigabyte): run them in a thread for large values.
    """

    def __init__(self, keys: KeyRing) -> None:
        self._keys = keys

    def seal(self, aad: str, plain: bytes) -> bytes:
        """`plain`, encrypted by the current key. `aad` names the place that it is for and is not kept within."""
        identity, key = self._keys.current
        head = _VERSION + identity
        nonce = secrets.token_bytes(_NONCE)
        return head + nonce + AESGCM(key).encrypt(nonce, plain, head + aad.encode())

    def open(self, aad: str, data: bytes) -> bytes:
        """What was sealed for the place `aad`.

        Raises:
            ObjectUnreadable: no key of the ring opens it for this place; `aad` is what the message calls it.
        """
        if len(data) < OVERHEAD or data[:1] != _VERSION:
            raise ObjectUnreadable(aad, Unreadable.FOREIGN)
        head, nonce = data[:_HEAD], data[_HEAD : _HEAD + _NONCE]
        key = self._keys.find(head[1:])
        if key is None:
            raise ObjectUnreadable(aad, Unreadable.UNKNOWN_KEY)
        try:
            return AESGCM(key).decrypt(nonce, memoryview(data)[_HEAD + _NONCE :], head + aad.encode())
        except InvalidTag:
            raise ObjectUnreadable(aad, Unreadable.ALTERED) from None

    def sealed_by_current(self, data: bytes) -> bool:
        """Whether `data` names the current key, so that rotating it would change nothing. It is not opened for that."""
        return data[1:_HEAD] == self._keys.current[0]
