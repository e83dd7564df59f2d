"""What is published of the issuer, as OpenID Connect Discovery 1.0 and RFC 7517 spell it."""

from typing import Literal

from pydantic import BaseModel, ConfigDict

ALGORITHM = "RS256"
"""The one that every cloud accepts."""
CLAIMS = (
    "iss", "sub", "aud", "iat", "nbf", "exp", "jti",
    "workspace", "project", "stack", "stack_id", "deployment_number", "deployment_id", "run_id", "mode", "epoch",
)  # fmt: skip
"""Of every identity token."""


class PublishedKey(BaseModel):
    """A public RSA key."""

    model_config = ConfigDict(defer_build=True, frozen=True)

    kty: Literal["RSA"] = "RSA"
    use: Literal["sig"] = "sig"
    alg: Literal["RS256"] = "RS256"
    kid: str
    n: str
    e: str


class KeySet(BaseModel):
    """The keys by which identity tokens are verified."""

    model_config = ConfigDict(defer_build=True, frozen=True)

    keys: tuple[PublishedKey, ...]


class IssuerConfiguration(BaseModel):
    """The issuer, for those who verify its tokens. It has no address to log in at."""

    model_config = ConfigDict(defer_build=True, frozen=True)

    issuer: str
    jwks_uri: str
    response_types_supported: tuple[str, ...] = ("id_token",)
    subject_types_supported: tuple[str, ...] = ("public",)
    id_token_signing_alg_values_supported: tuple[str, ...] = (ALGORITHM,)
    scopes_supported: tuple[str, ...] = ("openid",)
    claims_supported: tuple[str, ...] = CLAIMS
