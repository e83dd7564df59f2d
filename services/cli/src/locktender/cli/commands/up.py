"""`locktender up`: a whole system on this machine, until Ctrl-C."""

import asyncio
import signal
from pathlib import Path

from rich.text import Text

from locktender.cli.connection import state_folder
from locktender.cli.exits import Exit
from locktender.cli.options import JsonOption
from locktender.cli.output import Output
from locktender.cli.running import finish


def up(*, as_json: JsonOption = False) -> None:
    """Start PostgreSQL, NATS, every service and a sandbox cluster; stop them with Ctrl-C. Data is kept."""
    output = Output(as_json=as_json)
    finish(output, _up(output))


async def _up(output: Output) -> Exit:
    from locktender.cli.local.system import local_system  # noqa: PLC0415 - brings in servers that others never need

    output.say(f"Starting Locktender in {state_folder()}")
    async with local_system(state_folder(), output.step) as system:
        announce(output, system.url, system.kubeconfig)
        output.result({"url": system.url, "kubeconfig": str(system.kubeconfig)})
        await until_interrupted()
        output.say("Stopping")
    return Exit.OK


def announce(output: Output, url: str, kubeconfig: Path) -> None:
    """Where things are."""
    for what, where in (("API", url), ("OpenAPI", f"{url}/openapi"), ("cluster", str(kubeconfig))):
        output.say(Text.assemble("  ", (f"{what:<9}", "bold"), where))
    output.say(Text("  Ctrl-C stops everything; the data stays.", style="dim"))


async def until_interrupted() -> None:
    """Return at the first SIGINT or SIGTERM."""
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop.set)
    await stop.wait()
