"""How a command ends. The codes are part of the interface; scripts may rely on them."""

from enum import IntEnum

from locktender.contracts.kernel.problems import Problem


class Exit(IntEnum):
    """Every exit code of `locktender`."""

    OK = 0
    FAILED = 1
    """The deployment ended as failed or cancelled, or what was checked does not hold."""
    USAGE = 2
    """The command or its input cannot be understood."""
    DENIED = 3
    """Not allowed, or not there."""
    CONFLICT = 4
    """The state does not allow it."""
    UNAVAILABLE = 5
    """The API, or something it needs, does not answer."""
    CHANGES = 6
    """`diff --exit-code`: something would change."""
    PARKED = 7
    """The deployment waits for a person: for inputs or a confirmation, and nobody is here to ask."""
    SKIPPED = 8
    """The deployment of a stack was skipped, such as by a newer one: nothing failed, and nothing was applied."""
    INTERRUPTED = 130
    """Ctrl-C. A deployment that was watched goes on."""
    UNREAD = 141
    """Whoever read the output has gone, as `head` does. A deployment that was watched goes on."""


EXIT_CODES = (
    "Exit codes: 0 ok, 1 the deployment failed, 2 usage, 3 denied or not found, 4 conflict, "
    "5 unavailable, 6 something would change (--exit-code), 7 it waits for a person, 8 it was skipped, 130 interrupted."
)
"""The same for people who ask for help."""


class CommandError(Exception):
    """A command cannot go on. What it says is shown as it is."""

    def __init__(self, code: Exit, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.hint = hint


def exit_for(status: int) -> Exit:
    """The exit code for an HTTP status that is not a success. 422 is a cluster that does not let the account in."""
    kinds = {kind.value.status for kind in Problem}
    match status:
        case 401 | 403 | 404 | 410 | 422:
            return Exit.DENIED
        case 409 | 423:
            return Exit.CONFLICT
        case _ if status in kinds and status < 500:  # noqa: PLR2004 - client errors are below 500
            return Exit.USAGE
        case _:
            return Exit.UNAVAILABLE
