"""The consumers that feed this process, one for each kind of task."""

import asyncio
from collections.abc import Iterable

from locktender.contracts.deployments.models import RunnerKind
from locktender.contracts.kernel.errors import Unavailable
from locktender.contracts.kernel.subjects import COMMANDS_STREAM
from locktender.runner.executors.registry import Executors
from locktender.runner.runs import Runs
from locktender.runner.settings import RunnerSettings
from locktender.runtime.service import Service
from locktender.runtime.slots import Slots
from locktender.runtime.worker import JetStreamWorker


def workers(service: Service[RunnerSettings], runs: Runs, executors: Executors) -> dict[str, JetStreamWorker]:
    """By the name of their consumer, see `subjects.CONSUMERS`: one for each kind that this process can carry out."""
    settings = service.settings
    sizes = {kind: settings.noop_slots if kind == RunnerKind.NOOP else settings.slots for kind in executors}
    return {f"runner-{kind}": _worker(service, runs, f"runner-{kind}", size) for kind, size in sizes.items()}


async def run_all(feeds: Iterable[JetStreamWorker]) -> None:
    """Run every worker to its end. One that gives up requests the stop, and the others still drain in their own time.

    Raises:
        Unavailable: the first reason for which a worker gave up.
    """
    failures: list[Unavailable] = []

    async def run(feed: JetStreamWorker) -> None:
        try:
            await feed.run()
        except Unavailable as error:
            failures.append(error)

    async with asyncio.TaskGroup() as group:
        for feed in feeds:
            group.create_task(run(feed))
    if failures:
        raise failures[0]


def _worker(service: Service[RunnerSettings], runs: Runs, consumer: str, slots: int) -> JetStreamWorker:
    return JetStreamWorker(
        service.bus,
        COMMANDS_STREAM,
        consumer,
        slots=Slots(slots),
        claim=runs.claim,
        clock=service.clock,
        stop=service.stop,
        faults=service.faults,
        name=service.name,
        drain_seconds=service.settings.drain_seconds,
    )
