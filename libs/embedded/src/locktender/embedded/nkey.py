"""NKeys: Ed25519 key pairs in the text form that NATS uses. Only what a server configuration needs."""

import base64
import binascii
import secrets

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

_SEED = 18 << 3
_USER = 20 << 3
_SEED_LENGTH = 32


def new_user_seed() -> str:
    """A new secret seed of a user: `SU…`."""
    # Two prefixes of five bits each, "seed" and "user", share the first two bytes.
    head = bytes((_SEED | _USER >> 5, (_USER & 31) << 3))
    return _encode(head + secrets.token_bytes(_SEED_LENGTH))


def user_public_key(seed: str) -> str:
    """The public key `U…` of a user seed.

    Raises:
        ValueError: the text is no seed of a user. The message does not contain it.
    """
    try:
        padded = seed + "=" * (-len(seed) % 8)
        raw = base64.b32decode(padded)
    except ValueError as error:
        raise ValueError("not an NKey seed") from error
    body, check = raw[:-2], raw[-2:]
    if not seed.startswith("SU") or len(body) != _SEED_LENGTH + 2 or _checksum(body) != check:
        raise ValueError("not an NKey seed of a user")
    public = Ed25519PrivateKey.from_private_bytes(body[2:]).public_key().public_bytes_raw()
    return _encode(bytes((_USER,)) + public)


def _encode(body: bytes) -> str:
    return base64.b32encode(body + _checksum(body)).decode().rstrip("=")


def _checksum(body: bytes) -> bytes:
    return binascii.crc_hqx(body, 0).to_bytes(2, "little")
