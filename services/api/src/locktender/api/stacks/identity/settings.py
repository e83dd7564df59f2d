"""What the API is told of identity tokens."""

from typing import Self

from pydantic import BaseModel, ConfigDict, Field, SecretStr, model_validator

from locktender.integrations.identity.keys import signing_keys


class IdentitySettings(BaseModel):
    """How identity tokens of runs are signed. Without keys there are none.

    `keys`: RSA private keys as PEM (2048 bits or more), one after another; the first signs, and all are published, so
    that what an older one signed can still be verified. All replicas have to share them. `most_seconds`: how long a
    token is valid at most, however long a run may take.
    """

    model_config = ConfigDict(defer_build=True, frozen=True, hide_input_in_errors=True)

    keys: SecretStr | None = None
    most_seconds: int = Field(default=12 * 3600, ge=60, le=24 * 3600)

    @model_validator(mode="after")
    def _usable_keys(self) -> Self:
        if self.keys is not None:
            signing_keys(self.keys.get_secret_value())
        return self
