"""What a person is told about one object of a deployment."""

from dataclasses import dataclass
from enum import StrEnum


class CardStatus(StrEnum):
    """The status of one object. `RUNNING` means ready; `BLOCKED` may still proceed; `FAILED` ends the deployment."""

    PENDING = "pending"
    CREATING = "creating"
    RUNNING = "running"
    BLOCKED = "blocked"
    FAILED = "failed"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Trouble:
    """Something that will most likely not heal, once it has lasted for `grace_seconds` without a break.

    Attributes:
        reason: the name of the trouble as Kubernetes gives it, such as `ImagePullBackOff`.
        message: what happened, on one line.
        hint: what to do about it.
        grace_seconds: how long it may last before it counts; 0 when it has proved itself already.
        pod: the pod that shows it, if it is about one.
        container: its container.
    """

    reason: str
    message: str
    hint: str
    grace_seconds: float
    pod: str | None = None
    container: str | None = None

    @property
    def key(self) -> tuple[str, str | None]:
        """Equal for the same trouble seen again, also on a pod that replaced the first."""
        return self.reason, self.container


@dataclass(frozen=True, slots=True)
class Readiness:
    """The verdict on one object as it is now.

    Attributes:
        reason: stable machine-readable name, kebab-case or as Kubernetes gives it.
        message: one line for people.
        hint: what to do, when something is wrong.
        trouble: what turns the status to failed if it lasts; see `settled` in `readiness`.
    """

    status: CardStatus
    reason: str
    message: str
    hint: str | None = None
    trouble: Trouble | None = None


def ready(message: str = "ready", reason: str = "ready") -> Readiness:
    """The object is as it should be."""
    return Readiness(CardStatus.RUNNING, reason, message)


def pending(message: str, reason: str = "not-observed") -> Readiness:
    """Nobody has taken the object up yet."""
    return Readiness(CardStatus.PENDING, reason, message)


def creating(message: str, reason: str = "progressing") -> Readiness:
    """On the way."""
    return Readiness(CardStatus.CREATING, reason, message)


def blocked(message: str, reason: str, hint: str | None = None) -> Readiness:
    """Not moving, and it may yet."""
    return Readiness(CardStatus.BLOCKED, reason, message, hint)


def failed(message: str, reason: str, hint: str | None = None) -> Readiness:
    """It ended badly."""
    return Readiness(CardStatus.FAILED, reason, message, hint)


def troubled(trouble: Trouble) -> Readiness:
    """Blocked by `trouble`, which decides what becomes of it."""
    return Readiness(CardStatus.BLOCKED, trouble.reason, trouble.message, trouble.hint, trouble)
