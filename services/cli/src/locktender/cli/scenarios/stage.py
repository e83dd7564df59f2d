"""What every scenario of the demo stands on: a system, a sandbox cluster, and somebody to tell the story to."""

import time
from collections.abc import Callable
from contextlib import aclosing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rich.text import Text

from locktender.cli.client import ApiClient
from locktender.cli.exits import CommandError, Exit
from locktender.cli.following import follow
from locktender.cli.output import Output
from locktender.cli.render.timeline import TimelineView
from locktender.cli.stacks.client import StackClient
from locktender.runtime.clock import SystemClock

Snapshot = dict[str, Any]

PROJECT = "demo"


@dataclass(slots=True)
class Stage:
    """One showing.

    Attributes:
        api: the API of the system.
        stacks: the same, where it is about stacks.
        output: where the story is told.
        folder: the state folder of the system.
        kubeconfig: of its sandbox cluster.
        started: when the showing began, on the monotonic clock.
    """

    api: ApiClient
    stacks: StackClient
    output: Output
    folder: Path
    kubeconfig: str = field(repr=False)
    started: float = field(default_factory=time.monotonic)

    def tell(self, text: str) -> None:
        """A sentence of the story."""
        self.output.say(Text.assemble("\n", ("▸ ", "cyan"), text))

    async def ask(self, source: dict[str, Any], **more: Any) -> str:
        """Ask for a deployment; its id."""
        target = {"project": PROJECT, "namespace": "default"}
        body = {"source": source, "target": target, "kubeconfig": self.kubeconfig, **more}
        return (await self.api.create(body))["task"]["id"]

    async def followed(self, task_id: str, *expected: str) -> Snapshot:
        """Show a deployment until it is over or waits for inputs.

        Raises:
            CommandError: it is then in none of the expected statuses.
        """
        self.output.say("")
        snapshot = await follow(self.api, self.output, task_id)
        status = snapshot["task"]["status"]
        if status not in expected:
            raise CommandError(Exit.FAILED, f"the deployment is {status}, and should be {' or '.join(expected)}")
        return snapshot

    async def seen(self, task_id: str, enough: Callable[[Snapshot], bool]) -> None:
        """Show a deployment until that is enough.

        Raises:
            CommandError: it ended before.
        """
        self.output.say("")
        with TimelineView(self.output.console, SystemClock()) as view:
            async with aclosing(self.api.watch(task_id)) as snapshots:
                async for snapshot in snapshots:
                    view.show(snapshot)
                    if enough(snapshot):
                        return
        raise CommandError(Exit.FAILED, "the deployment ended too soon")

    def result(self, scenario: str, snapshot: Snapshot, **more: Any) -> dict[str, Any]:
        """The end of a scenario in one object."""
        cards = snapshot["timeline"]["cards"]
        return {
            "scenario": scenario,
            "status": snapshot["task"]["status"],
            "deploymentId": snapshot["task"]["id"],
            "resources": len(cards),
            "ready": sum(card["status"] == "running" for card in cards),
            "seconds": round(time.monotonic() - self.started, 3),
            "events": snapshot["task"]["revision"],
            **more,
        }
