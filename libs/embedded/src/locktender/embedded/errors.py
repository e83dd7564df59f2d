"""What the local mode says when it cannot start or stop something."""

from locktender.contracts.kernel.errors import LocktenderError


class EmbeddedError(LocktenderError):
    """A step of the local mode failed.

    Attributes:
        step: what was being done, as a short noun: `"postgres start"`.
        message: what happened, with the last lines of the program's own log where that helps.
        hint: what the user can do next.
    """

    def __init__(self, step: str, message: str, hint: str) -> None:
        super().__init__(f"{step}: {message}\n{hint}")
        self.step = step
        self.message = message
        self.hint = hint
