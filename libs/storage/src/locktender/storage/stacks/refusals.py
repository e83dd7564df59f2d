"""Why a command on a stack's work is refused. Each has one reason in words, for the person who asked."""

from locktender.contracts.kernel.errors import LocktenderError


class CommandRefused(LocktenderError):
    """A command does not fit what is true now. Nothing was changed. `key` is the row that it was about."""

    def __init__(self, key: object, message: str) -> None:
        super().__init__(message)
        self.key = key


class NotConfirmable(CommandRefused):
    """The deployment does not wait for this confirmation."""


class StalePlan(CommandRefused):
    """What was planned, or what the person has seen, is not what is there now. Another plan is needed."""


class StackUncertain(CommandRefused):
    """What a lost apply did is unknown; only a refresh may be applied."""


class NotSkippable(CommandRefused):
    """Something has begun, or the deployment is over."""


class NotRetryable(CommandRefused):
    """The deployment has not ended, cannot be repeated, or has just been repeated."""


class NotPrioritizable(CommandRefused):
    """The deployment is over."""


class NotAssigned(CommandRefused):
    """The run is not, or no longer, promised to this runner."""


class GroupInUse(CommandRefused):
    """A stack sends its runs to the group, or one of its runners is at work."""


class TokenKept(CommandRefused):
    """The group keeps an old token already, and has no place for another."""
