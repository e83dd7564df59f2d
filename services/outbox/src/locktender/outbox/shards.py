"""Which aggregates this replica publishes: leased shards, shared out fairly among the replicas that live."""

import math

import structlog

from locktender.contracts.kernel.clock import Clock
from locktender.contracts.kernel.lease import Owner
from locktender.storage.kernel.database import Database
from locktender.storage.kernel.tables import SHARDS
from locktender.storage.outbox.shards import Shards

_log = structlog.stdlib.get_logger(__name__)

_SAFE_SHARE_OF_TTL = 0.7


class ShardLeases:
    """The shards of one replica.

    A replica counts as living while it holds a membership row, so that one without shards is seen by the others and
    gets its share. What a replica has above its share it stops using at once and gives back between two batches.

    Nothing is held, whatever the database says, later than 0.7 of the lease after the last renewal was asked for.
    """

    def __init__(self, database: Database, owner: Owner, clock: Clock, *, ttl: float) -> None:
        self._shards = Shards(database, "outbox", owner)
        self._members = Shards(database, "outbox-members", owner)
        self._clock = clock
        self._ttl = ttl
        self._held: list[int] = []
        self._leaving: list[int] = []
        self._until = float("-inf")

    def alive(self) -> bool:
        """Whether this replica may still publish for its shards."""
        return self._clock.monotonic() < self._until

    @property
    def leaving(self) -> bool:
        """Whether there is something to give back."""
        return bool(self._leaving)

    def current(self, lane: int = 0, lanes: int = 1) -> list[int]:
        """The shards to publish for, now: all of them, or those of one lane."""
        return [shard for shard in self._held if shard % lanes == lane] if self.alive() else []

    async def prepare(self) -> None:
        """Make sure that the rows exist."""
        await self._shards.prepare()
        await self._members.prepare()

    async def share_out(self) -> bool:
        """Renew, and take or leave shards until this replica has its share. True: it got new ones."""
        asked_at = self._clock.monotonic()
        if not await self._members.renew(self._ttl):
            await self._members.take(1, self._ttl)
        renewed = {held.shard for held in await self._shards.renew(self._ttl)}
        share = math.ceil(SHARDS / (await self._members.sharers() + 1))
        self._leaving = [shard for shard in self._leaving if shard in renewed]
        keep = sorted(renewed - set(self._leaving))
        taken: list[int] = []
        if len(keep) < share:
            taken = [held.shard for held in await self._shards.take(share - len(keep), self._ttl)]
        self._leaving += keep[share:]
        self._held = keep[:share] + taken
        self._until = asked_at + self._ttl * _SAFE_SHARE_OF_TTL
        if taken or keep[share:]:
            _log.info("shards shared out", held=len(self._held), taken=len(taken), left=len(keep[share:]))
        return bool(taken)

    async def give_back(self) -> None:
        """Let go of what is above the share. Call it only while nothing is being published."""
        if self._leaving:
            leaving, self._leaving = self._leaving, []
            await self._shards.release(leaving)

    async def close(self) -> None:
        """Give everything back, so that another replica need not wait for the lease to expire."""
        held, self._held = self._held + self._leaving, []
        self._until = float("-inf")
        await self._shards.release(held)
        await self._members.release(list(range(SHARDS)))
