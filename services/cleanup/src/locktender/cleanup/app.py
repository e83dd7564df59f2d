"""The composition root of the cleanup service."""

import asyncio
from collections.abc import Mapping
from importlib.metadata import version

from locktender.cleanup.retention import RetentionJobs
from locktender.cleanup.settings import CleanupSettings
from locktender.cleanup.stacks.side import retain, stack_retention
from locktender.contracts.cleanup.flow import JobKind
from locktender.contracts.kernel.subjects import COMMANDS_STREAM, CONSUMERS, cleanup_command
from locktender.runtime.micro import OpsEndpoints
from locktender.runtime.service import Service
from locktender.runtime.slots import Slots
from locktender.runtime.worker import JetStreamWorker
from locktender.storage.kernel.database import open_database
from locktender.storage.outbox.relay import Relay

_CONSUMER = next(each.name for each in CONSUMERS if each.filter_subject == cleanup_command(JobKind.RETENTION))


async def serve(service: Service[CleanupSettings]) -> None:
    """Do cleanup jobs until the stop."""
    settings, bus = service.settings, service.bus
    async with open_database(settings.database_url.get_secret_value(), name="locktender-cleanup", size=2) as database:
        jobs = RetentionJobs(
            database, service.owner, service.faults,
            ttl=settings.lease_ttl_seconds, removed=lambda: bus.poke("outbox"),
        )  # fmt: skip
        worker = JetStreamWorker(
            bus, COMMANDS_STREAM, _CONSUMER,
            slots=Slots(settings.cleanup_slots), claim=jobs.claim, clock=service.clock, stop=service.stop,
            faults=service.faults, name=service.name, drain_seconds=settings.drain_seconds,
        )  # fmt: skip
        stacks = stack_retention(service, database)
        service.health.add("database", Relay(database).now)
        service.health.add("consumer", worker.check)

        async def status(_body: bytes) -> Mapping[str, object]:
            return {"outcomes": dict(jobs.outcomes), "objects": {} if stacks is None else dict(stacks.removed)}

        endpoints = OpsEndpoints(
            bus, "cleanup", version=version("locktender-cleanup"), description="Removes what is over and proven"
        )
        endpoints.add(
            "status", "lt.ops.cleanup.status", status, "How the jobs of this replica ended",
            response='{"outcomes": {outcome: jobs}, "objects": {kind: removed}}',
        )  # fmt: skip
        async with endpoints.serving():
            service.health.opened()
            async with asyncio.TaskGroup() as group:
                if stacks is not None:
                    group.create_task(retain(service, stacks))
                await worker.run()
