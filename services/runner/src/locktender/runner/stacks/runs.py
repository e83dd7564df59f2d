"""From a hint to the end of a run: take it over, keep its lease, carry it out."""

import random
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from uuid import UUID

import httpx
import structlog
from pydantic import SecretStr

from locktender.contracts.kernel.backoff import Backoff
from locktender.contracts.kernel.clock import Clock
from locktender.contracts.kernel.errors import NotFound, Unavailable
from locktender.contracts.kernel.faults import FaultPoints
from locktender.contracts.kernel.lease import Owner
from locktender.integrations.runs.carrying import Carried, Carrier, Ending
from locktender.runner.stacks.live import LiveStackRun, LiveStackRuns, PortAbort
from locktender.runtime.bus import Bus
from locktender.runtime.hint import Hint
from locktender.runtime.lease_keeper import LeaseKeeper
from locktender.runtime.runs.keys import RunKey
from locktender.runtime.runs.port import open_port
from locktender.runtime.runs.tokens import new_token, token_digest
from locktender.runtime.worker import Run
from locktender.storage.kernel.database import Database, OutcomeUnknown
from locktender.storage.stacks import assign
from locktender.storage.stacks.assign import AcceptedRun

_log = structlog.stdlib.get_logger(__name__)

_PAUSE = Backoff(first=0.1, ceiling=2.0)
_LOOKS = 10


@dataclass(frozen=True, slots=True)
class Taken:
    """A run whose lease this process holds, with the token of its epoch."""

    run: AcceptedRun
    token: SecretStr
    since: float


@dataclass(frozen=True, slots=True)
class StackRuns:
    """Takes runs over and carries them out.

    Guaranteed: a run is carried out only under a lease that was committed before; the lease is kept until the end is
    reported; where nothing can be reported it runs out, and the reaper tells what is true. A lost lease kills the tool
    and is silent.

    Attributes:
        http: a client for the API.
        key: of this boot; secrets of runs are sealed to it.
        ttl: length of a lease, in seconds.
    """

    database: Database
    http: httpx.AsyncClient
    carrier: Carrier
    keeper: LeaseKeeper
    live: LiveStackRuns
    key: RunKey
    owner: Owner
    ttl: float
    bus: Bus
    clock: Clock
    faults: FaultPoints

    async def claim(self, hints: Sequence[Hint]) -> Sequence[Run]:
        """Take every run among the hints that waits for a runner. What is not taken needs no one.

        Raises:
            Unavailable: the database did not answer, and nothing was taken.
        """
        await self.faults.reach("runner.before-take")
        taken: list[Taken] = []
        for hint in hints:
            try:
                one = await self._take(hint.id)
            except Unavailable:
                if not taken:
                    raise
                # The hints that are left are sent again by the reaper; what was taken must be carried out.
                break
            if one is not None:
                taken.append(one)
        await self.faults.reach("runner.after-take")
        if taken:
            self.bus.poke("outbox")
        return [partial(self._carry_out, each) for each in taken]

    async def _take(self, run_id: UUID) -> Taken | None:
        token, since = new_token(), self.clock.monotonic()
        digest = token_digest(token)
        try:
            run = await assign.take(self.database, run_id, owner=self.owner, ttl=self.ttl, token_hash=digest)
        except OutcomeUnknown:
            run = await self._found(run_id, digest)
        except NotFound:
            # Its stack was deleted.
            return None
        return None if run is None else Taken(run, token, since)

    async def _found(self, run_id: UUID, digest: bytes) -> AcceptedRun | None:
        """What a take came to whose answer was lost; the digest tells it from an earlier epoch that still ends."""
        for attempt in range(1, _LOOKS):
            await self.clock.sleep(_PAUSE.delay(attempt, random.random()))  # noqa: S311 - spreads load
            with suppress(Unavailable):
                held = await assign.claimed(self.database, [run_id], self.owner)
                return next((run for run in held if run.row["token_hash"] == digest), None)
        raise Unavailable("the database does not answer, so what was taken is not known")

    async def _carry_out(self, taken: Taken) -> None:
        lease = taken.run.lease
        async with open_port(self.http, lease.row_id, taken.token, key=self.key, clock=self.clock) as port:
            run = LiveStackRun(lease, taken.run.mode, PortAbort(port), taken.since)
            with self.keeper.keep(lease, run.signal, since=taken.since), self.live.holding(run):
                carried = await self.carrier.carry_out(port)
        _told(run, carried)


def _told(run: LiveStackRun, carried: Carried) -> None:
    facts = {
        "run": str(run.lease.row_id), "epoch": run.lease.epoch, "mode": run.mode, "ending": carried.ending.value,
        "reason": carried.reason,
    }  # fmt: skip
    if carried.fault is not None:
        _log.error("a run of a stack failed unexpectedly", exc_info=carried.fault, **facts)
    elif carried.ending is Ending.UNTOLD:
        _log.error("the end of a run cannot be told; its lease runs out", **facts)
    else:
        _log.info("a run of a stack ended", **facts)
