"""Watching one task to its end, and asking whoever watches when it waits for inputs."""

import asyncio
from collections.abc import Generator, Mapping
from contextlib import aclosing, contextmanager
from dataclasses import dataclass, field
from typing import Any

from rich.text import Text

from locktender.cli.client import ApiClient
from locktender.cli.exits import CommandError, Exit
from locktender.cli.forms.asking import ask
from locktender.cli.forms.fields import fixed
from locktender.cli.forms.terminal import Person
from locktender.cli.output import Output
from locktender.cli.render.timeline import TimelineView
from locktender.cli.render.timing import Stages
from locktender.contracts.deployments.flow import DEPLOYMENT_TASK
from locktender.runtime.clock import SystemClock

Snapshot = dict[str, Any]

_ROUNDS = 1_000
"""Times that one command asks for inputs."""


@dataclass(frozen=True, slots=True)
class Answering:
    """Who answers what a deployment asks, and with which credentials it goes on."""

    somebody: Person
    kubeconfig: str | None = field(repr=False)


async def follow(
    api: ApiClient, output: Output, task_id: str, *, stream_json: bool = False, answering: Answering | None = None
) -> Snapshot:
    """Show a task until it is over, or waits for inputs and nobody answers; its last snapshot.

    With `stream_json`, each snapshot is a line of JSON.
    """
    stages = Stages()
    for _ in range(_ROUNDS):
        snapshot = await _watched(api, output, task_id, stages, stream_json=stream_json)
        if answering is None or not waits(snapshot):
            return snapshot
        await answer(api, output, snapshot, answering)
    raise CommandError(Exit.UNAVAILABLE, "the deployment asks for inputs again and again")


async def answer(api: ApiClient, output: Output, snapshot: Snapshot, answering: Answering) -> None:
    """Ask for what a task waits for, and submit it. Somebody else may have been faster; then theirs counts."""
    task = snapshot["task"]
    asked = task["asked"]
    output.say(Text(str(asked["message"]), style="yellow"))
    try:
        answers = ask(fixed(asked["inputs"]), {}, answering.somebody, whole=True)
        await api.submit(task["id"], submission(answers, answering.kubeconfig))
    except CommandError as refusal:
        match refusal.code:
            case Exit.CONFLICT:
                output.say(Text("somebody else has answered in the meantime", style="dim"))
            case Exit.USAGE:
                # The form comes again, with the reason.
                output.say(Text(refusal.message, style="yellow"))
            case Exit.INTERRUPTED:
                hint = f"The deployment still waits. Go on with: locktender deployments input {task['id']}"
                raise CommandError(refusal.code, refusal.message, hint) from None
            case _:
                raise


def submission(answers: Mapping[str, str], kubeconfig: str | None) -> dict[str, Any]:
    """What the API is sent as an answer."""
    return {"values": dict(answers)} | ({} if kubeconfig is None else {"kubeconfig": kubeconfig})


def waits(snapshot: Snapshot) -> bool:
    """Whether a task waits for a person's inputs, none having been submitted."""
    task = snapshot["task"]
    return task["status"] == "blocked" and not task.get("resumeRequestedAt")


def exit_of(snapshot: Snapshot) -> Exit:
    """0 only for a completed deployment."""
    if snapshot["task"]["status"] == "completed":
        return Exit.OK
    return Exit.PARKED if waits(snapshot) else Exit.FAILED


def tell_end(output: Output, snapshot: Snapshot) -> None:
    """How to go on after a command that has followed a task."""
    task = snapshot["task"]
    if waits(snapshot):
        output.say(f"it waits for inputs; {task['asked']['message']}")
        output.say(Text(f"Go on with: locktender deployments input {task['id']}", style="dim"))
    elif task.get("supersededBy"):
        output.say(Text(f"Superseded. Go on with: locktender deployments watch {task['supersededBy']}", style="dim"))
    elif "redeploy" in task.get("actions", ()):
        output.say(Text(f"Try again with: locktender deployments redeploy {task['id']}", style="dim"))


async def learn_beginning(api: ApiClient, stages: Stages, snapshot: Snapshot) -> None:
    """Get the earliest events of a task whose snapshot has only the latest."""
    stages.learn(snapshot["events"])
    if not stages.whole:
        stages.learn((await api.events(snapshot["task"]["id"], 0))["events"])


@contextmanager
def detaching(output: Output, task_id: str, *, cancelling: bool = False) -> Generator[None]:
    """Ctrl-C stops the watching alone, and says so."""
    try:
        yield
    except asyncio.CancelledError:
        goes_on = "it has been told to stop, and stops without you" if cancelling else "the deployment goes on"
        output.say(Text(f"\ndetached; {goes_on}. Watch: locktender deployments watch {task_id}"))
        if not cancelling:
            output.say(Text(f"Stop it: locktender deployments cancel {task_id}", style="dim"))
        raise


async def _watched(api: ApiClient, output: Output, task_id: str, stages: Stages, *, stream_json: bool) -> Snapshot:
    latest: Snapshot | None = None
    with TimelineView(output.console, SystemClock(), stages) as view:
        async with aclosing(api.watch(task_id)) as snapshots:
            async for latest in snapshots:
                await learn_beginning(api, stages, latest)
                view.show(latest)
                if stream_json:
                    output.result(latest)
                if latest["task"]["status"] in DEPLOYMENT_TASK.terminal or waits(latest):
                    return latest
    if latest is None:
        raise CommandError(Exit.UNAVAILABLE, "the stream told nothing")
    return await api.snapshot(task_id)
