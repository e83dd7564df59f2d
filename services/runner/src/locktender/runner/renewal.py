"""The keeper's own way to the database: one connection that nothing else uses."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager

from locktender.contracts.kernel.lease import Epoch, Lease
from locktender.runtime.lease_keeper import OpenRenewal, Renewal
from locktender.runtime.renewals import RenewalAnswer
from locktender.storage.deployments.writes import DeploymentWrites
from locktender.storage.kernel.database import open_database


class TaskRenewal:
    """Renews leases of deployment tasks."""

    def __init__(self, writes: DeploymentWrites) -> None:
        self._writes = writes

    async def renew(self, leases: Sequence[Lease], ttl: float) -> list[RenewalAnswer]:
        """See `Renewal`."""
        return [
            RenewalAnswer(answer.row_id, Epoch(answer.epoch), answer.held, answer.cancel_requested)
            for answer in await self._writes.renew(leases, ttl)
        ]


def renewal_over(dsn: str, *, ttl: float) -> OpenRenewal:
    """Opens a connection of its own on every call; no statement on it takes longer than a fifth of `ttl`."""
    deadline = max(ttl / 5, 0.2)

    @asynccontextmanager
    async def opened() -> AsyncGenerator[Renewal]:
        # A renewal that a crash undoes ends a lease early, which is the safe side.
        async with open_database(
            dsn, name="locktender-runner-keeper", size=1, deadline=deadline, connect_deadline=deadline, durable=False
        ) as database:
            yield TaskRenewal(DeploymentWrites(database))

    return opened
