"""The keeper's own way to the leases of runs: one connection that nothing else uses."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager

from locktender.contracts.kernel.lease import Lease
from locktender.contracts.stacks.flow import RunStatus
from locktender.runtime.lease_keeper import OpenRenewal, Renewal
from locktender.runtime.renewals import RenewalAnswer
from locktender.storage.kernel.database import Database, open_database
from locktender.storage.stacks import assign

_CANCELLING = frozenset({RunStatus.REQUESTED_CANCELLATION, RunStatus.CANCELLING})


class RunRenewal:
    """Renews leases of runs."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def renew(self, leases: Sequence[Lease], ttl: float) -> list[RenewalAnswer]:
        """See `Renewal`. The length of a lease is on its row, where it was taken with `ttl`."""
        del ttl
        held = await assign.renew(self._database, list(leases))
        return [
            RenewalAnswer(
                lease.row_id,
                lease.epoch,
                held=(lease.row_id, lease.epoch) in held,
                cancel_requested=held.get((lease.row_id, lease.epoch)) in _CANCELLING,
            )
            for lease in leases
        ]


def renewal_over(dsn: str, *, ttl: float) -> OpenRenewal:
    """Opens a connection of its own on every call; no statement on it takes longer than a fifth of `ttl`."""
    deadline = max(ttl / 5, 0.2)

    @asynccontextmanager
    async def opened() -> AsyncGenerator[Renewal]:
        # A renewal that a crash undoes ends a lease early, which is the safe side.
        async with open_database(
            dsn, name="locktender-runner-run-keeper", size=1, deadline=deadline, connect_deadline=deadline,
            durable=False,
        ) as database:  # fmt: skip
            yield RunRenewal(database)

    return opened
