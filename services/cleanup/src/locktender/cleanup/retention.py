"""Retention jobs: finished deployment tasks go, with their events, and leave a tombstone."""

import random
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial

import structlog

from locktender.contracts.cleanup.flow import JobKind
from locktender.contracts.kernel.backoff import Backoff
from locktender.contracts.kernel.errors import LocktenderError, Unavailable
from locktender.contracts.kernel.faults import FaultPoints
from locktender.contracts.kernel.lease import Owner
from locktender.runtime.hint import Hint
from locktender.runtime.worker import Run
from locktender.storage.cleanup.writes import ClaimedJob, CleanupWrites
from locktender.storage.deployments.retention import Retention
from locktender.storage.kernel.database import Database

_log = structlog.stdlib.get_logger(__name__)

_RETRY = Backoff(first=1.0, ceiling=300.0)


class RetentionJobs:
    """Claims retention jobs in batches and finishes each batch in one statement.

    The statement removes a task only if it is over and stands at the revision that the job was made for; the same
    statement writes the tombstone and ends the job. So it happens as a whole or not at all, and a crash anywhere
    leaves a job whose lease expires and that is then done by somebody else. A job that fails is tried again for ever.

    Args:
        ttl: how long a claim lasts. Nothing renews it: one statement takes far less, and a late one finds itself
            fenced by its epoch.
        removed: called after a removal, so that the outbox is looked at.
    """

    def __init__(
        self, database: Database, owner: Owner, faults: FaultPoints, *, ttl: float, removed: Callable[[], None]
    ) -> None:
        self._writes = CleanupWrites(database)
        self._retention = Retention(database)
        self._owner = owner
        self._faults = faults
        self._ttl = ttl
        self._removed = removed
        self.outcomes: Counter[str] = Counter()
        """How the jobs of this process ended, `retried` among them."""

    async def claim(self, hints: Sequence[Hint]) -> Sequence[Run]:
        """Claim what is claimable among the hinted jobs: one run for all of them.

        Raises:
            Unavailable: the database is away; the hints will come again.
        """
        claimed = await self._writes.claim((hint.id for hint in hints), self._owner, self._ttl)
        await self._faults.reach("cleanup.after-claim")
        mine = [job for job in claimed if job.kind == JobKind.RETENTION]
        for job in claimed:
            if job.kind != JobKind.RETENTION:
                await self._retry(job, f"this version knows no jobs of kind {job.kind}")
        return [partial(self._finish, mine)] if mine else []

    async def _finish(self, jobs: Sequence[ClaimedJob]) -> None:
        await self._faults.reach("cleanup.before-remove")
        try:
            await self._remove(jobs)
        except Unavailable as error:
            await self._retry_all(jobs, str(error))
        except Exception as error:  # noqa: BLE001 - whatever it was, each job is tried by itself and then again
            _log.exception("a batch of removals failed", jobs=len(jobs))
            if len(jobs) == 1:
                await self._retry_all(jobs, type(error).__name__)
            else:
                for job in jobs:
                    await self._finish([job])

    async def _remove(self, jobs: Sequence[ClaimedJob]) -> None:
        removals = {each.job_id: each.outcome for each in await self._retention.remove([job.lease for job in jobs])}
        await self._faults.reach("cleanup.after-remove")
        self._removed()
        for job in jobs:
            outcome = removals.get(job.lease.row_id, "lease-lost")
            self.outcomes[outcome] += 1
            _log.info("retention job ended", job=str(job.lease.row_id), task=str(job.subject_id), outcome=outcome)

    async def _retry_all(self, jobs: Sequence[ClaimedJob], reason: str) -> None:
        for job in jobs:
            await self._retry(job, reason)

    async def _retry(self, job: ClaimedJob, reason: str) -> None:
        delay = _RETRY.delay(job.attempts, random.random())  # noqa: S311 - spreads load
        self.outcomes["retried"] += 1
        _log.warning("cleanup job will be tried again", job=str(job.lease.row_id), reason=reason, seconds=round(delay))
        try:
            await self._writes.retry(job.lease, reason[:500], delay)
        except LocktenderError as error:
            # Its lease expires and the reaper frees it.
            _log.warning("cleanup job could not be given back", job=str(job.lease.row_id), reason=str(error))
