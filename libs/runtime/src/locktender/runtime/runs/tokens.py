"""Run tokens: what a runner shows for the epoch that it holds."""

import hashlib
import secrets

from pydantic import SecretStr

_BYTES = 32


def new_token() -> SecretStr:
    """A fresh token: 32 random bytes as URL-safe base64."""
    return SecretStr(secrets.token_urlsafe(_BYTES))


def token_digest(token: SecretStr | str) -> bytes:
    """What is stored of a token: SHA-256 of its text. It is random, so that needs no salt."""
    text = token if isinstance(token, str) else token.get_secret_value()
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
