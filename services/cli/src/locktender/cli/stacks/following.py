"""Following a deployment of a stack: the log of its runs as it is written, and a line that says what it is at."""

import asyncio
from collections.abc import Callable, Generator
from contextlib import aclosing, contextmanager
from typing import Any

from rich.text import Text

from locktender.cli.exits import CommandError
from locktender.cli.output import Output
from locktender.cli.render.stacks.words import runs_of
from locktender.cli.stacks.client import StackClient
from locktender.cli.stacks.endings import is_over, waits
from locktender.cli.stacks.logs import RunAddress, log_lines
from locktender.cli.stacks.status_line import StatusLine
from locktender.contracts.stacks.flow import DeploymentStatus

Json = dict[str, Any]

_LOG_TAIL_SECONDS = 15.0
"""From the end of the deployment until its log was told to the end."""
_NOT_BEGUN = {"pending", "queued", "assigned"}


async def follow(
    api: StackClient,
    output: Output,
    deployment: Json,
    *,
    rests: Callable[[Json], bool] | None = None,
    told: Callable[[Json], None] | None = None,
    log: bool | None = None,
) -> Json:
    """Show a deployment until it has ended, or until `rests` says that it will not go on by itself.

    Unless told otherwise it rests when it waits for a confirmation. `told` is given each snapshot that comes. `log` is
    whether the log is followed, see `StatusLine`; of a failure its end is shown in any case. Returns the last snapshot.
    """
    rests = rests or waits
    stack, number = deployment["stack"], deployment["number"]
    latest = deployment
    line = StatusLine(output.console, log=log)
    with line:
        line.show(latest)
        async with asyncio.TaskGroup() as group:
            tails = _Tails(api, line, group, {run["id"] for run in runs_of(deployment) if run["completedAt"]})
            tails.open(latest)
            async with aclosing(api.watch(stack, number)) as snapshots:
                async for latest in snapshots:
                    line.show(latest)
                    if told is not None:
                        told(latest)
                    tails.open(latest)
                    if is_over(latest) or rests(latest):
                        break
            await tails.settle()
        if not (is_over(latest) or rests(latest)):
            latest = await api.deployment(stack, number)
    if latest["status"] == DeploymentStatus.FAILED:
        line.fail()
    return latest


@contextmanager
def detaching(output: Output, deployment: Json) -> Generator[None]:
    """Ctrl-C stops the watching alone, and says so."""
    name = f"{deployment['stack']} {deployment['number']}"
    try:
        yield
    except asyncio.CancelledError:
        output.say(Text(f"\ndetached; the deployment goes on. Watch: locktender stack watch {name}"))
        output.say(Text(f"Stop it: locktender stack cancel {name}", style="dim"))
        raise


class _Tails:
    """The logs of the runs that begin while somebody watches. A log that cannot be told is a remark, and no failure."""

    def __init__(self, api: StackClient, line: StatusLine, group: asyncio.TaskGroup, seen: set[str]) -> None:
        self._api = api
        self._line = line
        self._group = group
        self._seen = seen
        self._tasks: list[asyncio.Task[None]] = []

    def open(self, deployment: Json) -> None:
        """Follow the logs of runs that have begun since."""
        for run in runs_of(deployment):
            if run["id"] in self._seen or run["status"] in _NOT_BEGUN:
                continue
            self._seen.add(run["id"])
            address = RunAddress(deployment["stack"], deployment["number"], run["id"])
            self._tasks.append(self._group.create_task(self._tail(address)))

    async def settle(self) -> None:
        """Wait until what is open was told to its end, for a bounded time."""
        if not self._tasks:
            return
        _, late = await asyncio.wait(self._tasks, timeout=_LOG_TAIL_SECONDS)
        for task in late:
            task.cancel()

    async def _tail(self, run: RunAddress) -> None:
        try:
            async with aclosing(log_lines(self._api, run)) as lines:
                async for line in lines:
                    self._line.log(line)
        except CommandError as error:
            self._line.log(f"(the log cannot be shown: {error.message})")
