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


class Grace(StrEnum):
    """The class of a trouble, which decides how long it may last. Declared by urgency: the first is told first."""

    IMAGE_NAME = "image_name"
    """The name of an image can never be one."""
    IMAGE = "image"
    """An image cannot be pulled."""
    START = "start"
    """A container cannot be created or run."""
    CONFIG = "config"
    """Something that a pod refers to is missing."""
    CRASH = "crash"
    """A container keeps ending."""
    CREATE = "create"
    """The cluster refuses to create pods."""
    CLAIM = "claim"
    """No volume can be made for a claim."""
    MOUNT = "mount"
    """A volume cannot be attached or mounted."""
    SCHEDULE = "schedule"
    """No node takes a pod, which a cluster that grows may yet change."""
    REFUSED = "refused"
    """A controller says that it cannot do what the object asks for."""


class Deadline(StrEnum):
    """Who ends the wait for an object that makes no progress."""

    OURS = "ours"
    """`Patience.progress` does."""
    CLUSTER = "cluster"
    """The cluster does, by a deadline of the object itself."""
    NONE = "none"
    """Nobody: it may wait for as long as it likes, for something outside of the deployment."""


class Doubt(StrEnum):
    """Why an object that looks ready may not be: it counts once nothing has changed for a while."""

    CRASHED = "crashed"
    """A container of it ended lately; it has to stay up for `Patience.steady`."""
    SILENT = "silent"
    """Its controller may not have seen it yet; nothing said for `Patience.silence` is taken for consent."""


@dataclass(frozen=True, slots=True)
class Trouble:
    """Something that will most likely not heal, once it has lasted for the patience that its class is given.

    Attributes:
        reason: the name of the trouble as Kubernetes gives it, such as `ImagePullBackOff`.
        message: what happened, on one line.
        hint: what to do about it.
        grace: its class; `Patience` says how long that may last.
        pod: the pod that shows it, if it is about one.
        container: its container.
        count: how often it happened, for classes that count.
        latent: it is not to be seen right now, and may have passed. A latent trouble keeps its age, and fails nothing.
    """

    reason: str
    message: str
    hint: str
    grace: Grace
    pod: str | None = None
    container: str | None = None
    count: int = 0
    latent: bool = False

    @property
    def key(self) -> tuple[Grace, str | None]:
        """Equal for the same trouble seen again: under its other name, or on a pod that replaced the first."""
        return self.grace, self.container


@dataclass(frozen=True, slots=True)
class Readiness:
    """The verdict on one object as it is now.

    Attributes:
        reason: stable machine-readable name, kebab-case or as Kubernetes gives it.
        message: one line for people.
        hint: what to do, when something is wrong.
        trouble: what turns the status to failed if it lasts; see `settled`.
        deadline: who ends the wait when nothing moves.
        doubt: why a `RUNNING` verdict is not to be believed at once; whoever does not call `settled` has to ask.
    """

    status: CardStatus
    reason: str
    message: str
    hint: str | None = None
    trouble: Trouble | None = None
    deadline: Deadline = Deadline.OURS
    doubt: Doubt | None = None


def ready(message: str = "ready", reason: str = "ready", hint: str | None = None) -> Readiness:
    """The object is as it should be."""
    return Readiness(CardStatus.RUNNING, reason, message, hint)


def pending(message: str, reason: str = "not-observed", hint: str | None = None) -> Readiness:
    """Nobody has taken the object up yet."""
    return Readiness(CardStatus.PENDING, reason, message, hint)


def creating(message: str, reason: str = "progressing", hint: str | None = None) -> Readiness:
    """On the way."""
    return Readiness(CardStatus.CREATING, reason, message, hint)


def blocked(message: str, reason: str, hint: str | None = None) -> Readiness:
    """Not moving, and it may yet."""
    return Readiness(CardStatus.BLOCKED, reason, message, hint)


def failed(message: str, reason: str, hint: str | None = None) -> Readiness:
    """It ended badly."""
    return Readiness(CardStatus.FAILED, reason, message, hint)


def troubled(trouble: Trouble) -> Readiness:
    """Blocked by `trouble`, which decides what becomes of it."""
    return Readiness(CardStatus.BLOCKED, trouble.reason, trouble.message, trouble.hint, trouble)
