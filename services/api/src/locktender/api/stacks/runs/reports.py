"""What runners say of their runs: alive, stopping, done."""

from collections.abc import Awaitable, Callable, Mapping
from uuid import UUID

import structlog

from locktender.api.stacks.runs.gate import HeldRun
from locktender.contracts.kernel.errors import LeaseLost
from locktender.contracts.stacks.flow import RunStatus
from locktender.contracts.stacks.wire import Done, StatusAnswer
from locktender.runtime.bus import Bus
from locktender.storage.kernel.database import Database, Row, Transaction
from locktender.storage.stacks.assign import acknowledge, renew
from locktender.storage.stacks.complete import Ended, report

_log = structlog.stdlib.get_logger(__name__)

Tell = Callable[[UUID], Awaitable[None]]
"""Wakes whoever follows the log of a run that has ended."""


class RunReports:
    """The three reports. Each is decided on the row, under the epoch of the token."""

    def __init__(self, *, database: Database, bus: Bus, tell_ended: Tell) -> None:
        self._database = database
        self._bus = bus
        self._tell_ended = tell_ended

    async def alive(self, run: HeldRun) -> StatusAnswer:
        """What is true of the run now. Its lease lives for another length from here on.

        Raises:
            LeaseLost: it ended meanwhile.
        """
        status = (await renew(self._database, [run.lease])).get((run.id, run.claim.epoch))
        if status is None:
            raise LeaseLost(run.id, run.claim.epoch, run.claim.epoch)
        return StatusAnswer(status=status)

    async def stopping(self, run: HeldRun, trace: Mapping[str, str]) -> StatusAnswer:
        """The runner has heard of the cancel. From here on the run ends cancelled; saying it again changes nothing.

        Raises:
            LeaseLost: it ended meanwhile.
            WrongState: nobody asked for a cancel.
        """

        async def work(tx: Transaction) -> Row:
            return await acknowledge(tx, run.id, run.lease.epoch, trace)

        row = await self._database.transact(work)
        self._bus.poke("outbox")
        return StatusAnswer(status=RunStatus(row["status"]))

    async def done(self, run: HeldRun, done: Done, trace: Mapping[str, str]) -> StatusAnswer:
        """The run has ended; the answer says as what. Its token is void from here on.

        So a report that is repeated after a lost answer finds no valid token, and is told so: the run has ended, which
        is all that its runner needs to know.

        Raises:
            LeaseLost: it ended meanwhile, in another way. Nothing was changed.
        """

        async def work(tx: Transaction) -> Ended:
            return await report(tx, run.id, run.lease.epoch, done, trace)

        ended = await self._database.transact(work)
        self._bus.poke("outbox")
        await self._tell_ended(run.id)
        status = RunStatus(ended.run["status"])
        _log.info(
            "a run has ended", run=str(run.id), epoch=run.claim.epoch, status=status.value, reported=done.outcome.value,
            deployment=str(ended.deployment["id"]), next=ended.what.value,
        )  # fmt: skip
        return StatusAnswer(status=status)
