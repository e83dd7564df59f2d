"""RSA keys that sign identity tokens: read from a setting, made anew, known by the thumbprint of their public half."""

import hashlib
import json
import re
from base64 import urlsafe_b64encode

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey, generate_private_key
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, load_pem_private_key

LEAST_BITS = 2048
MOST_KEYS = 10
_EXPONENT = 65537
_BLOCK = re.compile(r"-----BEGIN ([A-Z0-9 ]+)-----.*?-----END \1-----", re.DOTALL)


class SigningKey:
    """A private key, and what everybody may know of it. Neither `repr` nor any error shows the private half."""

    def __init__(self, private: RSAPrivateKey) -> None:
        self.private = private
        numbers = private.public_key().public_numbers()
        self.modulus = _text(_bytes(numbers.n))
        """As base64url: `n` of a JSON Web Key."""
        self.exponent = _text(_bytes(numbers.e))
        """As base64url: `e` of a JSON Web Key."""
        # RFC 7638: the required members, in this order, without blanks.
        members = json.dumps({"e": self.exponent, "kty": "RSA", "n": self.modulus}, separators=(",", ":"))
        self.thumbprint = _text(hashlib.sha256(members.encode()).digest())
        """By which verifiers find the key."""

    def __repr__(self) -> str:
        return f"SigningKey({self.thumbprint})"


def signing_keys(text: str) -> tuple[SigningKey, ...]:
    r"""The keys of a text of PEM blocks, in their order. A written-out `\n` counts as a line break.

    Raises:
        ValueError: it is something else; the message repeats nothing of it.
    """
    # Files of environment variables have one line for each, and PEM has no backslash of its own.
    text = text.replace("\\n", "\n")
    blocks = [found.group() for found in _BLOCK.finditer(text)]
    if not blocks or _BLOCK.sub("", text).strip():
        raise ValueError("give RSA private keys as PEM, one after another, and nothing else")
    if len(blocks) > MOST_KEYS:
        raise ValueError(f"give {MOST_KEYS} keys at most; remove those whose tokens have all ended")
    keys = tuple(_opened(block, ordinal) for ordinal, block in enumerate(blocks, 1))
    if len({key.thumbprint for key in keys}) != len(keys):
        raise ValueError("two keys are the same; give each once")
    return keys


def new_key_text() -> str:
    """A fresh key, as the setting wants it. Takes a noticeable part of a second."""
    key = generate_private_key(public_exponent=_EXPONENT, key_size=LEAST_BITS)
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()


def _opened(block: str, ordinal: int) -> SigningKey:
    try:
        key = load_pem_private_key(block.encode(), password=None)
    except (ValueError, TypeError, UnsupportedAlgorithm):
        # The cause may say more of the key than anybody should read.
        raise ValueError(f"key {ordinal} is no private key in PEM without a passphrase") from None
    if not isinstance(key, RSAPrivateKey):
        raise ValueError(f"key {ordinal} is no RSA key, and clouds do not all accept another kind")  # noqa: TRY004 - the text was wrong, not its type
    if key.key_size < LEAST_BITS:
        raise ValueError(f"key {ordinal} has {key.key_size} bits; {LEAST_BITS} is the least")
    return SigningKey(key)


def _bytes(number: int) -> bytes:
    return number.to_bytes((number.bit_length() + 7) // 8, "big")


def _text(raw: bytes) -> str:
    return urlsafe_b64encode(raw).rstrip(b"=").decode()
