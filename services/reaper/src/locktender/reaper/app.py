"""The composition root of the reaper."""

from importlib.metadata import version

from locktender.contracts.kernel.clock import Clock
from locktender.reaper.clock_guard import ClockGuard
from locktender.reaper.operations import Operations
from locktender.reaper.reaper import Reaper
from locktender.reaper.settings import ReaperSettings
from locktender.reaper.stack_sweeps import stack_sweeps
from locktender.reaper.sweeps import Sweep, hints_at_once, sweeps
from locktender.runtime.loop import Waker, adaptive
from locktender.runtime.micro import OpsEndpoints
from locktender.runtime.service import Service
from locktender.storage.kernel.database import Database, open_database
from locktender.storage.outbox.relay import Relay

_HEALTHY_SECONDS = 30.0
_HEALTHY_PASSES = 5


async def serve(service: Service[ReaperSettings]) -> None:
    """Sweep at once, then again and again until the stop."""
    settings, bus = service.settings, service.bus
    async with open_database(settings.database_url.get_secret_value(), name="locktender-reaper", size=2) as database:
        database_now = Relay(database).now
        reaper = Reaper(
            _all_sweeps(database, service.clock, settings),
            ClockGuard(tolerance=settings.lease_ttl_seconds, hold=settings.renew_seconds),
            database_now, service.clock, service.faults,
            moved=lambda: bus.poke("outbox"),
            healthy_seconds=max(_HEALTHY_SECONDS, _HEALTHY_PASSES * settings.reaper_sweep_seconds),
        )  # fmt: skip
        service.health.add("database", database_now)
        service.health.add("sweep", reaper.check)
        waker = Waker()
        await bus.on_poke("reaper", waker)
        endpoints = OpsEndpoints(
            bus, "reaper", version=version("locktender-reaper"),
            description="Turns passed deadlines and expired leases into honest states",
        )  # fmt: skip
        Operations(reaper, settings).offer(endpoints)
        async with endpoints.serving():
            service.health.opened()
            await adaptive(
                reaper.round, stop=service.stop, clock=service.clock, waker=waker, name="sweep",
                floor=settings.reaper_sweep_seconds, ceiling=settings.reaper_sweep_seconds,
            )  # fmt: skip


def _all_sweeps(database: Database, clock: Clock, settings: ReaperSettings) -> tuple[Sweep, ...]:
    limit = settings.reaper_batch
    return (
        *sweeps(database, settings.deadlines, limit=limit, forget=settings.reaper_forget_seconds),
        *stack_sweeps(
            database, settings.stacks, clock,
            limit=limit, hints=hints_at_once(limit), reconcile=settings.reaper_reconcile_seconds,
        ),
    )  # fmt: skip
