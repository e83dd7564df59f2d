"""Signs for a run who it is."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from locktender.api.stacks.identity.documents import ALGORITHM, IssuerConfiguration, KeySet, PublishedKey
from locktender.api.stacks.identity.settings import IdentitySettings
from locktender.contracts.kernel.clock import Clock
from locktender.contracts.kernel.ids import Workspace, new_id
from locktender.contracts.stacks.vocabulary import RunMode
from locktender.integrations.identity.keys import SigningKey, signing_keys

CONFIGURATION = "/.well-known/openid-configuration"
KEYS = "/.well-known/jwks.json"
_BEFORE = 60
"""Seconds by which a token is valid before it is issued: the clock of who verifies it may be late."""


@dataclass(frozen=True, slots=True)
class RunIdentity:
    """Who a run is. None of the names can have a colon in it, so that the subject reads in one way."""

    workspace: Workspace
    project: str
    stack: str
    stack_id: UUID
    deployment_number: int
    deployment_id: UUID
    run_id: UUID
    mode: RunMode
    epoch: int

    @property
    def subject(self) -> str:
        """By which a cloud decides what the run may do. A plan and an apply of a stack have different ones."""
        return f"workspace:{self.workspace}:project:{self.project}:stack:{self.stack}:mode:{self.mode.value}"

    def claims(self) -> dict[str, str | int]:
        """All that is told of it besides the subject."""
        return {
            "workspace": self.workspace,
            "project": self.project,
            "stack": self.stack,
            "stack_id": str(self.stack_id),
            "deployment_number": self.deployment_number,
            "deployment_id": str(self.deployment_id),
            "run_id": str(self.run_id),
            "mode": self.mode.value,
            "epoch": self.epoch,
        }


class IdentityIssuer:
    """Signs tokens that others verify by what it publishes. It keeps none of them, and cannot take one back.

    The first of the keys signs. To rotate, put a new one first, and keep the old one until its tokens have ended.
    """

    def __init__(self, url: str, keys: Sequence[SigningKey], *, clock: Clock, most_seconds: int) -> None:
        self._url = url.rstrip("/")
        self._keys = keys
        self._clock = clock
        self._most_seconds = most_seconds

    @classmethod
    def of(cls, settings: IdentitySettings, public_url: str | None, clock: Clock) -> "IdentityIssuer | None":
        """The issuer that the settings describe; None where they have no keys.

        Raises:
            ValueError: the keys cannot be used.
        """
        if settings.keys is None or public_url is None:
            return None
        keys = signing_keys(settings.keys.get_secret_value())
        return cls(public_url, keys, clock=clock, most_seconds=settings.most_seconds)

    def tokens(self, run: RunIdentity, audiences: Iterable[str], *, seconds: float) -> list[str]:
        """A token for each audience, in their order, valid for `seconds` or as long as tokens may be.

        Takes milliseconds of a processor for each.
        """
        now = int(self._clock.now().timestamp())
        stated: dict[str, str | int] = {
            **run.claims(),
            "iss": self._url,
            "sub": run.subject,
            "iat": now,
            "nbf": now - _BEFORE,
            "exp": now + min(int(seconds), self._most_seconds),
        }
        return [self._signed({**stated, "aud": each, "jti": str(new_id())}) for each in audiences]

    def configuration(self) -> IssuerConfiguration:
        """What is found by the address of the issuer."""
        return IssuerConfiguration(issuer=self._url, jwks_uri=self._url + KEYS)

    def key_set(self) -> KeySet:
        """By what its tokens are verified."""
        return KeySet(keys=tuple(PublishedKey(kid=key.thumbprint, n=key.modulus, e=key.exponent) for key in self._keys))

    def _signed(self, claims: Mapping[str, str | int]) -> str:
        # Most APIs have no such keys, and the import is a noticeable part of a start.
        import jwt  # noqa: PLC0415 - as said above

        key = self._keys[0]
        return jwt.encode(dict(claims), key.private, algorithm=ALGORITHM, headers={"kid": key.thumbprint})
