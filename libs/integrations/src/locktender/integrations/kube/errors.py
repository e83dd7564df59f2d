"""What a cluster can answer instead of what was asked for.

KubeError
├── KubeUnauthorized     401: the credentials are wrong or have expired
├── KubeDenied           403: the account lacks the right, or a policy refused the object
│   └── KubeQuotaExceeded    403: a quota is used up
├── KubeNotFound         404: the object, or the namespace it should live in, is not there
├── KubeUnknownKind      the cluster does not serve this kind
├── KubeConflict         409: another field manager owns a field, or the object moved on
├── KubeTerminating      403 or 409: the namespace or object is being deleted; waiting may help
├── KubeInvalid          400, 413, 415, 422: the object itself is not acceptable
│   └── KubeImmutable        422: the object exists, and a field of it that cannot change would have to
├── WatchExpired         410: the resource version is too old; list again
└── KubeUnavailable      no usable answer: refused, timed out, TLS failed, 429, 5xx

A message is one line that says what happened, `hint` one line that says what to do next. Neither repeats what a server
said about a `Secret`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from locktender.contracts.kernel.errors import LocktenderError, Unavailable


class KubeError(LocktenderError):
    """Root of the refusals of a cluster. `hint` says what to do next, where that is known."""

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(message)
        self.hint = hint


class KubeUnauthorized(KubeError):
    """401. Trying again with the same credentials is pointless."""


class KubeDenied(KubeError):
    """403. `verb` and `resource` name the right that is missing."""

    def __init__(self, message: str, *, verb: str, resource: str, hint: str | None = None) -> None:
        super().__init__(message, hint=hint)
        self.verb = verb
        self.resource = resource


class KubeQuotaExceeded(KubeDenied):
    """403 because a quota is used up."""


class KubeNotFound(KubeError):
    """404."""


class KubeUnknownKind(KubeError):
    """The cluster serves no such kind, even after looking again."""

    def __init__(self, api_version: str, kind: str) -> None:
        super().__init__(
            f"the cluster does not know {kind} in {api_version}",
            hint="check apiVersion and kind, or install the custom resource definition first",
        )
        self.api_version = api_version
        self.kind = kind


@dataclass(frozen=True, slots=True)
class ConflictCause:
    """One field that `manager` owns."""

    manager: str
    field: str


class KubeConflict(KubeError):
    """409. Without causes, the object itself has changed since it was read."""

    def __init__(self, message: str, causes: Sequence[ConflictCause] = (), *, hint: str | None = None) -> None:
        super().__init__(message, hint=hint)
        self.causes = tuple(causes)


class KubeTerminating(KubeError):
    """The namespace or the object is going away. A bounded wait may help."""


@dataclass(frozen=True, slots=True)
class InvalidCause:
    """One field that is not acceptable, in words; for a `Secret` without a word of the server's."""

    field: str
    message: str


class KubeInvalid(KubeError):
    """400, 413, 415 or 422."""

    def __init__(self, message: str, causes: Sequence[InvalidCause] = (), *, hint: str | None = None) -> None:
        super().__init__(message, hint=hint)
        self.causes = tuple(causes)


class KubeImmutable(KubeInvalid):
    """422 because a field that cannot change after creation differs. `causes` names it where the cluster did."""


class WatchExpired(KubeError):
    """410. List again and watch from there."""


class Outage(StrEnum):
    """Why there was no usable answer."""

    TIMEOUT = "timeout"
    UNREACHABLE = "unreachable"
    TLS = "tls"
    BROKEN = "broken"
    OVERLOADED = "overloaded"
    SERVER_ERROR = "server-error"
    WEBHOOK = "webhook"
    """The cluster answers; an admission or conversion webhook that it has to ask does not."""


class KubeUnavailable(KubeError, Unavailable):
    """No usable answer. `retry_after` is in seconds, when the server named a wait."""

    def __init__(
        self, message: str, outage: Outage, *, retry_after: float | None = None, hint: str | None = None
    ) -> None:
        super().__init__(message, hint=hint)
        self.outage = outage
        self.retry_after = retry_after

    @property
    def transient(self) -> bool:
        """Whether trying again soon is reasonable. A certificate does not become right by waiting."""
        return self.outage is not Outage.TLS
