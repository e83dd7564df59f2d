"""The runner put together."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager

from locktender.integrations.kube.informing.hub import InformerHub, informer_hub
from locktender.runner.cancels import Cancels
from locktender.runner.executors.deploying import Means
from locktender.runner.executors.direct import DirectExecutor
from locktender.runner.executors.instances import InstanceKey
from locktender.runner.executors.noop import NoopExecutor
from locktender.runner.executors.registry import Executors, executors
from locktender.runner.executors.template import TemplateExecutor
from locktender.runner.executors.terms import Bounds
from locktender.runner.live import LiveRuns
from locktender.runner.renewal import renewal_over
from locktender.runner.runs import Runs
from locktender.runner.settings import RunnerSettings
from locktender.runner.stacks.side import CONSUMER, StackSide, open_stacks
from locktender.runner.worker import run_all, workers
from locktender.runtime.custody_client import CustodyClient
from locktender.runtime.lease_keeper import LeaseKeeper
from locktender.runtime.loop import every
from locktender.runtime.micro import OpsEndpoints
from locktender.runtime.renewals import FENCE_AT
from locktender.runtime.service import Service
from locktender.storage.deployments.reads import DeploymentReads
from locktender.storage.deployments.writes import DeploymentWrites
from locktender.storage.kernel.database import open_database

_VERSION = "0.1.0"
_OVERDUE_LOOK = 1.0


async def serve(service: Service[RunnerSettings]) -> None:
    """Take and carry out tasks until a stop is requested, then end every run and say how.

    Raises:
        Unavailable: the database or the bus is not there.
    """
    settings = service.settings
    ttl, dsn = settings.lease_ttl_seconds, settings.database_url.get_secret_value()
    live = LiveRuns(clock=service.clock, stop=service.stop, run_seconds=settings.deadlines.run, ttl=ttl)
    async with AsyncExitStack() as stack:
        database = await stack.enter_async_context(
            open_database(dsn, name="locktender-runner", size=settings.database_connections)
        )
        writes = DeploymentWrites(database)
        # Closed before the database and after every run: leases are renewed until the last outcome is written.
        keeper = stack.enter_context(
            LeaseKeeper(renewal_over(dsn, ttl=ttl), ttl=ttl, renew_every=settings.renew_seconds, clock=service.clock)
        )
        # Ends after every run, as they all look through it.
        hub = await stack.enter_async_context(informer_hub(clock=service.clock, pace=settings.observation))
        known = _executors(service, hub)
        runs = Runs(
            writes, DeploymentReads(database), owner=service.owner, executors=known,
            custody=CustodyClient(service.bus, clock=service.clock), keeper=keeper, live=live, bus=service.bus,
            settings=settings, clock=service.clock, faults=service.faults,
        )  # fmt: skip
        feeds = workers(service, runs, known)
        service.health.add("database", lambda: writes.renew([], ttl))
        service.health.add("leases", keeper.check)
        stacks = None
        if settings.api_url is not None:
            stacks = await stack.enter_async_context(open_stacks(service, database, settings.api_url))
            feeds[CONSUMER] = stacks.feed
        for name, feed in feeds.items():
            service.health.add(name, feed.check)
        await stack.enter_async_context(_watching(service, live, Cancels(live, writes, ttl=ttl, clock=service.clock)))
        await stack.enter_async_context(_operations(service, live, hub, stacks).serving())
        service.health.opened()
        await run_all(feeds.values())


def _executors(service: Service[RunnerSettings], hub: InformerHub) -> Executors:
    settings = service.settings
    bounds = Bounds(
        document=settings.apply_seconds,
        write=settings.write_seconds,
        # A checkpoint fails from `FENCE_AT` of a lease on, so this much of one is left after every checkpoint.
        fenced_write=settings.lease_ttl_seconds * (1 - FENCE_AT),
        namespace=settings.namespace_seconds,
        definition=settings.definition_seconds,
        replacement=settings.replacement_seconds,
        plan=settings.plan_seconds,
        clean_up=settings.cleanup_seconds,
        run=settings.deadlines.run,
        at_once=settings.apply_at_once,
    )
    means = Means(
        clock=service.clock,
        faults=service.faults,
        bounds=bounds,
        readiness_seconds=settings.deadlines.readiness,
        hub=hub,
        patience=settings.patience,
    )
    key = None if settings.instance_key is None else settings.instance_key.get_secret_value().encode()
    template = TemplateExecutor(
        means, key=InstanceKey(key), limits=settings.manifests, render_seconds=settings.render_seconds
    )
    return executors(DirectExecutor(means), NoopExecutor() if settings.noop_runner else None, template)


@asynccontextmanager
async def _watching(service: Service[RunnerSettings], live: LiveRuns, cancels: Cancels) -> AsyncGenerator[None]:
    """Abort runs for every reason that does not come with a renewal, until the last run has ended."""
    async with asyncio.TaskGroup() as group:
        await cancels.listen(service.bus)
        watches = [
            group.create_task(cancels.look_forever()),
            group.create_task(live.end_at_stop()),
            group.create_task(
                every(_OVERDUE_LOOK, live.end_overdue, stop=service.stop, clock=service.clock, name="overdue runs")
            ),
        ]
        try:
            yield
        finally:
            for watch in watches:
                watch.cancel()


def _operations(
    service: Service[RunnerSettings], live: LiveRuns, hub: InformerHub, stacks: StackSide | None
) -> OpsEndpoints:
    ops = OpsEndpoints(service.bus, "runner", version=_VERSION, description="Carries out deployment tasks")

    async def status(_body: bytes) -> dict[str, object]:
        about: dict[str, object] = {"owner": service.owner, "stopping": service.stop.requested}
        runs = [*live.status(), *(stacks.live.status() if stacks else [])]
        return about | {"runs": runs, "watching": hub.status()}

    ops.add(
        "status", "lt.ops.runner.status", status, "The runs of one runner: id, epoch, phase, age; and what it watches",
        response='{"owner", "stopping", "runs": [{"id", "epoch", "runner", "phase", "aborting", "seconds"}], '
        '"watching": {"accounts", "informers", "watches", "objects"}}',
    )  # fmt: skip
    return ops
