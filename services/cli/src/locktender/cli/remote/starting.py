"""From the options of `locktender runner` to a runner that works until it is stopped."""

import asyncio
import os
import signal
import socket
from dataclasses import dataclass, field

from pydantic import SecretStr, ValidationError

from locktender.cli.connection import connect
from locktender.cli.exits import CommandError, Exit
from locktender.cli.remote.agent import Agent
from locktender.cli.remote.group_client import GroupClient
from locktender.cli.remote.place import Place
from locktender.contracts.kernel.ids import instance_name
from locktender.contracts.stacks.remote import PollRuns
from locktender.runtime.clock import SystemClock
from locktender.runtime.logs import configure_logs
from locktender.runtime.runs.http import run_client
from locktender.runtime.runs.keys import RunKey
from locktender.runtime.stop import Stop


@dataclass(frozen=True, slots=True)
class Wanted:
    """A runner as it was asked for."""

    group: str
    token: str = field(repr=False)
    url: str | None
    labels: str
    name: str | None
    place: Place
    once: bool
    as_json: bool


async def run_agent(wanted: Wanted) -> Exit:
    """Work until the end.

    Raises:
        CommandError: it cannot start, or the API does not take it.
    """
    asked = _asked(wanted)
    # The token is the group's: without one, what a local system left for people must not be taken instead.
    connection = connect(wanted.url, wanted.token)
    configure_logs("runner", asked.name, form="json" if wanted.as_json else "console")
    clock, stop = SystemClock(), Stop()
    carrier = await wanted.place.ready(clock)
    _end_in_order(stop)
    async with run_client(connection.url, trust_env=True) as http:
        client = GroupClient(http, SecretStr(connection.token), clock)
        return await Agent(client, carrier, asked, RunKey(), stop, clock, once=wanted.once).work()


def _asked(wanted: Wanted) -> PollRuns:
    labels = [label.strip() for label in wanted.labels.split(",") if label.strip()]
    name = wanted.name or f"{instance_name(socket.gethostname())}-{os.getpid()}"
    try:
        return PollRuns(name=name, group=wanted.group, labels=tuple(labels))
    except ValidationError as error:
        places = ", ".join(sorted({f"--{each['loc'][0]}" for each in error.errors(include_input=False)}))
        hint = "They are letters, digits, dots and dashes; labels are separated by commas."
        raise CommandError(Exit.USAGE, f"this is no valid value of {places}", hint) from None


def _end_in_order(stop: Stop) -> None:
    """The first signal ends in order, the second at once; processes of a run do not outlive this one either way."""
    loop = asyncio.get_running_loop()

    def on_signal() -> None:
        if stop.requested:
            os._exit(Exit.INTERRUPTED)
        stop.request()

    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, on_signal)
