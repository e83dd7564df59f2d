"""`locktender demo`: start everything, and show one thing that it does, for real."""

import asyncio
import signal
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from locktender.cli.channel import Channel, http_client
from locktender.cli.client import ApiClient
from locktender.cli.commands.up import announce, until_interrupted
from locktender.cli.connection import Connection, state_folder
from locktender.cli.exits import CommandError, Exit
from locktender.cli.options import DEFAULT_WORKSPACE, JsonOption
from locktender.cli.output import Output
from locktender.cli.running import finish
from locktender.cli.scenarios.cancel import cancel
from locktender.cli.scenarios.deploy import deploy
from locktender.cli.scenarios.redeploy import redeploy
from locktender.cli.scenarios.stack import stack
from locktender.cli.scenarios.stack_shop import tools_are_here
from locktender.cli.scenarios.stage import Stage
from locktender.cli.scenarios.template import template
from locktender.cli.stacks.client import StackClient

Scenario = Callable[[Stage], Awaitable[dict[str, Any]]]

SCENARIOS: Mapping[str, Scenario] = {
    "deploy": deploy,
    "template": template,
    "cancel": cancel,
    "redeploy": redeploy,
    "stack": stack,
}
NEEDS: Mapping[str, Callable[[], None]] = {"stack": tools_are_here}
"""What raises `CommandError` where a scenario cannot be shown."""


def demo(
    *,
    scenario: Annotated[str, typer.Option(help=f"What to show: {', '.join(SCENARIOS)}.")] = "deploy",
    leave: Annotated[bool, typer.Option("--exit", help="Stop everything at the end.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Start a system, and show something in its sandbox cluster: a shop of twelve services, unless told otherwise.

    Ends with 0 when what was to be shown came out as it should, with 1 when not.
    """
    output = Output(as_json=as_json)
    finish(output, _demo(output, scenario, leave=leave))


async def _demo(output: Output, scenario: str, *, leave: bool) -> Exit:
    from locktender.cli.local.system import local_system  # noqa: PLC0415 - brings in servers that others never need

    show = SCENARIOS.get(scenario)
    if show is None:
        raise CommandError(Exit.USAGE, f"there is no scenario {scenario}", f"There are: {', '.join(SCENARIOS)}.")
    if scenario in NEEDS:
        NEEDS[scenario]()
    output.say(f"Starting Locktender in {state_folder()}")
    with _interruptible():
        async with local_system(state_folder(), output.step) as system:
            result = await _shown(output, show, Connection(system.url, system.token), system.kubeconfig)
            if not leave:
                announce(output, system.url, system.kubeconfig)
                output.result(result)
                await until_interrupted()
                output.say("Stopping")
    if leave:
        output.result(result)
    return Exit.OK


async def _shown(output: Output, show: Scenario, connection: Connection, kubeconfig: Path) -> dict[str, Any]:
    text = await asyncio.to_thread(kubeconfig.read_text, encoding="utf-8")
    async with http_client(connection) as http:
        api, stacks = ApiClient(http, DEFAULT_WORKSPACE), StackClient(Channel(http), DEFAULT_WORKSPACE)
        return await show(Stage(api, stacks, output, state_folder(), text))


class _interruptible:  # noqa: N801 - reads as a statement
    """Ctrl-C and SIGTERM during the demo cancel it, so that everything is stopped in order."""

    def __enter__(self) -> None:
        loop, task = asyncio.get_running_loop(), asyncio.current_task()
        if task is not None:
            for number in (signal.SIGINT, signal.SIGTERM):
                loop.add_signal_handler(number, task.cancel)

    def __exit__(self, *_: object) -> None:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.remove_signal_handler(number)
