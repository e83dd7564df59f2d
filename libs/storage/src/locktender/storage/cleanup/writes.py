"""Every write to cleanup jobs, except the final one: that is made by the statement which removes the subject."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from uuid import UUID

from locktender.contracts.kernel.lease import Epoch, Lease, Owner
from locktender.storage.cleanup import transitions
from locktender.storage.kernel.database import Database


@dataclass(frozen=True, slots=True)
class ClaimedJob:
    """A job whose lease the caller holds. `generation` is the subject's revision when the job was made."""

    lease: Lease
    kind: str
    subject_id: UUID
    generation: int
    attempts: int


class CleanupWrites:
    """The life of cleanup jobs over one database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def claim(self, ids: Iterable[UUID], owner: Owner, ttl: float) -> list[ClaimedJob]:
        """Take the lease of each pending, due job among `ids`."""
        rows = await self._database.fetch(
            transitions.CLAIM.statement, id=list(dict.fromkeys(ids)), owner=owner, ttl=ttl
        )
        return [
            ClaimedJob(
                Lease(row["id"], owner, Epoch(row["lease_epoch"])),
                row["kind"],
                row["subject_id"],
                row["generation"],
                row["attempts"],
            )
            for row in rows
        ]

    async def renew(self, leases: Sequence[Lease], ttl: float) -> set[tuple[UUID, int]]:
        """Move the deadline of every lease; the (id, epoch) of those still held."""
        rows = await self._database.fetch(
            transitions.RENEW.statement,
            id=[lease.row_id for lease in leases],
            epoch=[lease.epoch for lease in leases],
            ttl=ttl,
        )
        return {(row["id"], row["lease_epoch"]) for row in rows}

    async def retry(self, lease: Lease, error: str, delay: float) -> bool:
        """Running → pending, due again after `delay` seconds. False: the lease is another's by now."""
        rows = await self._database.fetch(
            transitions.RETRY.statement, id=[lease.row_id], epoch=[lease.epoch], last_error=[error], delay=delay
        )
        return bool(rows)

    async def expire(self, limit: int) -> list[UUID]:
        """Free jobs whose holder is gone."""
        return [row["id"] for row in await self._database.fetch(transitions.EXPIRE, limit=limit)]

    async def hint(self, limit: int, patience: float) -> list[UUID]:
        """Send the command again for due jobs whose last hint is older than `patience` seconds."""
        return [row["id"] for row in await self._database.fetch(transitions.HINT, limit=limit, patience=patience)]

    async def forget(self, limit: int, retention: float) -> int:
        """Delete jobs that were done more than `retention` seconds ago."""
        return len(await self._database.fetch(transitions.FORGET, limit=limit, retention=retention))
