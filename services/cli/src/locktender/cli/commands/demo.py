"""`locktender demo`: start everything, deploy a real application, show that it became ready."""

import asyncio
import signal
import time
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.text import Text

from locktender.cli.client import open_client
from locktender.cli.commands.up import announce, until_interrupted
from locktender.cli.connection import Connection, state_folder
from locktender.cli.exits import CommandError, Exit
from locktender.cli.following import exit_of, follow
from locktender.cli.options import DEFAULT_WORKSPACE, JsonOption
from locktender.cli.output import Output
from locktender.cli.running import finish

APPLICATION = Path(__file__).parent.parent / "examples" / "online-boutique.yaml"
_SCENARIOS = ("deploy",)


def demo(
    *,
    scenario: Annotated[str, typer.Option(help="What to show: deploy.")] = "deploy",
    leave: Annotated[bool, typer.Option("--exit", help="Stop everything at the end.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Start a system and deploy a shop of twelve services into its sandbox cluster."""
    output = Output(as_json=as_json)
    finish(output, _demo(output, scenario, leave=leave))


async def _demo(output: Output, scenario: str, *, leave: bool) -> Exit:
    from locktender.cli.local.system import local_system  # noqa: PLC0415 - brings in servers that others never need

    if scenario not in _SCENARIOS:
        raise CommandError(Exit.USAGE, f"there is no scenario {scenario}", f"There is: {', '.join(_SCENARIOS)}.")
    output.say(f"Starting Locktender in {state_folder()}")
    with _interruptible():
        async with local_system(state_folder(), output.step) as system:
            result = await _deploy(output, Connection(system.url, system.token), system.kubeconfig)
            if not leave:
                announce(output, system.url, system.kubeconfig)
                output.result(result)
                await until_interrupted()
                output.say("Stopping")
    if leave:
        output.result(result)
    return Exit.OK if result["status"] == "completed" else Exit.FAILED


async def _deploy(output: Output, connection: Connection, kubeconfig_file: Path) -> dict[str, Any]:
    started = time.monotonic()
    manifests, kubeconfig = await asyncio.to_thread(
        lambda: (APPLICATION.read_text(encoding="utf-8"), kubeconfig_file.read_text(encoding="utf-8"))
    )
    body = {
        "source": {"kind": "manifests", "manifests": manifests},
        "target": {"project": "demo", "namespace": "default"},
        "displayName": "Online Boutique",
        "kubeconfig": kubeconfig,
    }
    async with open_client(connection, DEFAULT_WORKSPACE) as api:
        created = await api.create(body)
        task_id = created["task"]["id"]
        output.say("")
        snapshot = await follow(api, output, task_id)
        seconds = time.monotonic() - started
    cards, status = snapshot["timeline"]["cards"], snapshot["task"]["status"]
    ready = sum(card["status"] == "running" for card in cards)
    style = "green" if exit_of(snapshot) is Exit.OK else "red"
    summary = f"{status}: {ready} of {len(cards)} resources ready after {seconds:.1f} s"
    output.say(Text.assemble("\n", (summary, style)))
    return {
        "scenario": "deploy",
        "status": status,
        "deploymentId": task_id,
        "resources": len(cards),
        "ready": ready,
        "seconds": round(seconds, 3),
        "events": snapshot["task"]["revision"],
    }


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
