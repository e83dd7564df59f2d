"""What the runner needs for stacks, put together."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass

import structlog

from locktender.contracts.kernel.subjects import COMMANDS_STREAM
from locktender.integrations.runs.carrying import Carrier
from locktender.integrations.runs.checkout import SourceTerms
from locktender.integrations.runs.means import means_of
from locktender.integrations.tofu.failures import ProcessesLeft
from locktender.integrations.tofu.workplace import sweep
from locktender.runner.settings import RunnerSettings
from locktender.runner.stacks.cancels import RunCancels
from locktender.runner.stacks.fence import kill_fenced
from locktender.runner.stacks.live import LiveStackRuns
from locktender.runner.stacks.renewal import RunRenewal, renewal_over
from locktender.runner.stacks.runs import StackRuns
from locktender.runtime.lease_keeper import LeaseKeeper
from locktender.runtime.runs.http import run_client
from locktender.runtime.runs.keys import RunKey
from locktender.runtime.scrub import Scrubber, ScrubStream
from locktender.runtime.service import Service
from locktender.runtime.slots import Slots
from locktender.runtime.worker import JetStreamWorker
from locktender.storage.kernel.database import Database

_log = structlog.stdlib.get_logger(__name__)

CONSUMER = "runner-stacks"


@dataclass(frozen=True, slots=True)
class StackSide:
    """The consumer of runs, and the runs that it feeds."""

    feed: JetStreamWorker
    live: LiveStackRuns


@asynccontextmanager
async def open_stacks(service: Service[RunnerSettings], database: Database, api_url: str) -> AsyncGenerator[StackSide]:
    """Everything for runs of stacks, until the last of them has ended. First what earlier processes left is ended.

    Raises:
        Unavailable: the bus is closed.
    """
    settings, clock = service.settings, service.clock
    ttl, dsn = settings.lease_ttl_seconds, settings.database_url.get_secret_value()
    carrier = _carrier(service)
    await _sweep(settings)
    live = LiveStackRuns(clock=clock, stop=service.stop)
    keeper = LeaseKeeper(
        renewal_over(dsn, ttl=ttl), ttl=ttl, renew_every=settings.renew_seconds, on_fence=kill_fenced, clock=clock
    )
    async with run_client(api_url) as http:
        with keeper:
            runs = StackRuns(
                database=database, http=http, carrier=carrier, keeper=keeper, live=live, key=RunKey(),
                owner=service.owner, ttl=ttl, bus=service.bus, clock=clock, faults=service.faults,
            )  # fmt: skip
            feed = JetStreamWorker(
                service.bus, COMMANDS_STREAM, CONSUMER, slots=Slots(settings.stack_runs_at_once), claim=runs.claim,
                clock=clock, stop=service.stop, faults=service.faults, name=service.name,
                drain_seconds=settings.drain_seconds,
            )  # fmt: skip
            service.health.add("run leases", keeper.check)
            cancels = RunCancels(live, RunRenewal(database), ttl=ttl, clock=clock)
            async with _watching(service, live, cancels):
                yield StackSide(feed, live)


def _carrier(service: Service[RunnerSettings]) -> Carrier:
    settings = service.settings
    means = means_of(
        settings.stack_work_dir,
        scrub=lambda values: ScrubStream(Scrubber(values)),
        clock=service.clock,
        search_path=settings.stack_engine_path,
        plugin_cache=settings.stack_plugin_cache,
        cli_config=settings.stack_cli_config,
    )
    return Carrier(means, SourceTerms(settings.stack_git_schemes, settings.stack_git_hosts))


async def _sweep(settings: RunnerSettings) -> None:
    try:
        swept = await sweep(settings.stack_work_dir)
    except ProcessesLeft as error:
        _log.error("processes of an earlier runner are left", reason=str(error))
    else:
        if swept:
            _log.warning("an earlier runner left runs; they were ended", runs=swept)


@asynccontextmanager
async def _watching(service: Service[RunnerSettings], live: LiveStackRuns, cancels: RunCancels) -> AsyncGenerator[None]:
    async with asyncio.TaskGroup() as group:
        await cancels.listen(service.bus)
        watches = [group.create_task(cancels.look_forever()), group.create_task(live.end_at_stop())]
        try:
            yield
        finally:
            for watch in watches:
                watch.cancel()
