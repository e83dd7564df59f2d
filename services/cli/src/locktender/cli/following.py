"""Watching one task to its end."""

from contextlib import aclosing
from typing import Any

from locktender.cli.client import ApiClient
from locktender.cli.exits import CommandError, Exit
from locktender.cli.output import Output
from locktender.cli.render.timeline import TimelineView
from locktender.contracts.deployments.flow import DEPLOYMENT_TASK


async def follow(api: ApiClient, output: Output, task_id: str, *, stream_json: bool = False) -> dict[str, Any]:
    """Show a task until it is over; its last snapshot. With `stream_json`, each snapshot is a line of JSON."""
    latest: dict[str, Any] | None = None
    with TimelineView(output.console) as view:
        async with aclosing(api.watch(task_id)) as snapshots:
            async for latest in snapshots:
                view.show(latest)
                if stream_json:
                    output.result(latest)
                if latest["task"]["status"] in DEPLOYMENT_TASK.terminal:
                    return latest
    if latest is None:
        raise CommandError(Exit.UNAVAILABLE, "the stream told nothing")
    return await api.snapshot(task_id)


def exit_of(snapshot: dict[str, Any]) -> Exit:
    """0 only for a completed deployment."""
    return Exit.OK if snapshot["task"]["status"] == "completed" else Exit.FAILED
