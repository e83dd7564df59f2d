"""Lines of a log from its events."""

from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass

from locktender.cli.channel import ServerEvent
from locktender.cli.exits import CommandError, Exit
from locktender.cli.stacks.client import StackClient

_LONGEST_LINE = 100_000


@dataclass(frozen=True, slots=True)
class RunAddress:
    """A run of a deployment."""

    stack: str
    number: int
    run_id: str


async def log_lines(api: StackClient, run: RunAddress) -> AsyncGenerator[str]:
    """Whole lines of the log from its beginning, as they come, until the run has ended.

    Should the record begin anew, so do the lines. Raises `CommandError` when the API refuses or stays away.
    """
    begun = ""
    async with aclosing(api.log_events(run.stack, run.number, run.run_id, 0)) as events:
        async for event in events:
            if event.name == "resync":
                begun = ""
            begun += _text_of(event)
            *whole, begun = begun.split("\n")
            if len(begun) > _LONGEST_LINE:
                whole, begun = [*whole, begun], ""
            for line in whole:
                yield line
    if begun:
        yield begun


def _text_of(event: ServerEvent) -> str:
    if event.name != "log":
        return ""
    text = event.data.get("text")
    if not isinstance(text, str):
        raise CommandError(Exit.UNAVAILABLE, "the log is told in a way that this version does not know")
    return text
