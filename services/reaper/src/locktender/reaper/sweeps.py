"""Every sweep of a pass, in the order in which they run."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from uuid import UUID

from locktender.contracts.deployments.policy import Deadlines
from locktender.storage.cleanup.writes import CleanupWrites
from locktender.storage.deployments.retention import Retention
from locktender.storage.deployments.transitions import SWEEPS
from locktender.storage.deployments.writes import DeploymentWrites
from locktender.storage.kernel.database import Database

_HINTS_AT_ONCE = 1000


def hints_at_once(limit: int) -> int:
    """How many hints one statement sends where other sweeps move `limit` rows."""
    return min(_HINTS_AT_ONCE, limit * 5)


@dataclass(frozen=True, slots=True)
class Sweep:
    """Work that finds its own rows. Running it again, or on several replicas at once, is safe.

    Attributes:
        name: the reason of a verdict, or what else is done.
        run: moves about so many rows; what they were, or how many there were.
        limit: how many at a time. Fewer means that there is no more.
        verdict: whether it ends tasks, so that each of them is worth a line in the log.
        defect: whether it should never find anything, so that each row is an error in the log.
    """

    name: str
    run: Callable[[int], Awaitable[Sequence[object] | int]]
    limit: int
    verdict: bool = False
    defect: bool = False


def sweeps(database: Database, deadlines: Deadlines, *, limit: int, forget: float) -> tuple[Sweep, ...]:
    """All sweeps. Verdicts go first, and a cancel before an interruption: who asked for an end is told of an end."""
    deployments, cleanup, retention = DeploymentWrites(database), CleanupWrites(database), Retention(database)
    patience = _patience(deadlines)
    verdicts = [
        Sweep(reason, partial(_judge, deployments, reason, patience[reason]), limit, verdict=True) for reason in SWEEPS
    ]
    hints = hints_at_once(limit)
    return (
        *verdicts,
        Sweep("withdraw-input", lambda rows: deployments.withdraw_input(rows, deadlines.start), limit),
        Sweep("hint-deployments", lambda rows: deployments.hint(rows, deadlines.hint), hints),
        Sweep("hint-resumes", lambda rows: deployments.hint_resume(rows, deadlines.hint), hints),
        Sweep("hint-cleanup", lambda rows: cleanup.hint(rows, deadlines.hint), hints),
        Sweep("expire-cleanup", cleanup.expire, limit),
        Sweep("schedule-retention", lambda rows: retention.schedule(rows, deadlines.retention), limit),
        Sweep("forget-cleanup", lambda rows: cleanup.forget(rows, forget), limit),
    )


def _patience(deadlines: Deadlines) -> Mapping[str, float | None]:
    return {
        "cancel-ack-deadline": deadlines.cancel_ack,
        "interrupted-with-cancel": None,
        "timeout": deadlines.run,
        "interrupted": None,
        "never-started": deadlines.start,
    }


async def _judge(writes: DeploymentWrites, reason: str, patience: float | None, limit: int) -> list[UUID]:
    return await writes.sweep(reason, limit, patience)
