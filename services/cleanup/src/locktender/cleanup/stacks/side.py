"""Retention of stacks, put together."""

import structlog

from locktender.cleanup.settings import CleanupSettings
from locktender.cleanup.stacks.leftovers import Leftovers
from locktender.cleanup.stacks.rounds import Paced, RetentionRounds
from locktender.cleanup.stacks.run_files import RunFiles
from locktender.cleanup.stacks.state_versions import StateVersions
from locktender.integrations.objects.remover import ObjectRemover
from locktender.runtime.loop import adaptive
from locktender.runtime.service import Service
from locktender.storage.kernel.database import Database
from locktender.storage.kernel.turn import Turn
from locktender.storage.outbox.relay import Relay
from locktender.storage.stacks import retention

_log = structlog.stdlib.get_logger(__name__)

_TURN = "cleanup-stacks"
_DAY = 86_400.0
_RUNS, _STACKS, _OBJECTS = 100, 200, 1_000
"""How much of each kind is looked at in one step."""


def stack_retention(service: Service[CleanupSettings], database: Database) -> RetentionRounds | None:
    """The retention of stacks. None: there is no object store in the settings, which the log says.

    Raises:
        ValueError: the object store of the settings cannot be used.
        Unavailable: its folder cannot be made.
    """
    settings, faults = service.settings, service.faults
    if settings.objects.url is None:
        _log.warning("nothing of stacks is removed: give the cleanup service LOCKTENDER_OBJECTS__URL")
        return None
    kept = settings.stack_retention
    age, remover, rows = (
        kept.log_days * _DAY,
        ObjectRemover.open(settings.objects.url),
        retention.StackRetention(database),
    )
    plans = RunFiles(retention.Leaving.PLAN, rows, remover, faults, age=0.0, limit=_RUNS)
    records = RunFiles(retention.Leaving.RECORD, rows, remover, faults, age=age, limit=_RUNS)
    states = StateVersions(rows, remover, faults, age=age, versions=kept.state_versions, limit=_STACKS)
    leftovers = Leftovers(database, remover, faults, now=Relay(database).now, age=age, limit=_OBJECTS)
    walks = [
        Paced(plans, kept.plan_seconds),
        *(Paced(each, kept.pass_seconds) for each in (records, states, leftovers)),
    ]
    turn = Turn(database, _TURN, service.owner, ttl=settings.lease_ttl_seconds)
    return RetentionRounds(walks, turn, service.clock, service.stop)


async def retain(service: Service[CleanupSettings], stacks: RetentionRounds) -> None:
    """Remove what is due until the stop."""
    pause = service.settings.stack_retention.plan_seconds
    await adaptive(
        stacks.round, stop=service.stop, clock=service.clock, floor=pause, ceiling=pause, name="retention of stacks"
    )
    await stacks.close()
