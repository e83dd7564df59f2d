"""The use case of `POST …/log`: kept first, then counted, then told to whoever is listening."""

import structlog

from locktender.api.http.problems import ProblemError
from locktender.api.stacks.logs.archive import LogArchive, LogBroken, LogPlace
from locktender.api.stacks.runs.gate import HeldRun
from locktender.contracts.kernel import subjects
from locktender.contracts.kernel.errors import LeaseLost, NotFound, Unavailable
from locktender.contracts.kernel.problems import Problem
from locktender.contracts.stacks.events import OFFSET_HEADER
from locktender.runtime.bus import Bus
from locktender.storage.kernel.database import Database
from locktender.storage.stacks.logs import advance_log, log_end

_log = structlog.stdlib.get_logger(__name__)

_ROUNDS = 8


class LogIntake:
    """Takes pieces of logs in order. The end on the row never names bytes that are not kept."""

    def __init__(self, *, database: Database, archive: LogArchive, bus: Bus) -> None:
        self._database = database
        self._archive = archive
        self._bus = bus

    async def __call__(self, run: HeldRun, offset: int, data: bytes) -> int:
        """Keep what is new of `data`, which begins at `offset`; where the next piece begins.

        What is kept already is not kept twice. Fewer bytes may be taken than were sent; the rest is sent again.

        Raises:
            ProblemError: bytes before this piece are missing, or other bytes are kept at this place.
            LeaseLost: the run ended meanwhile.
        """
        end: int = run.row["log_end"]
        for _ in range(_ROUNDS):
            if offset > end:
                raise ProblemError(
                    Problem.LOG_GAP, f"the log is kept up to byte {end}; go on there, and leave nothing out"
                )
            fresh = data[end - offset :]
            if not fresh:
                return end
            taken = await self._keep(run, end, fresh)
            end = await self._count(run, end, fresh[:taken])
        return end

    async def _keep(self, run: HeldRun, start: int, fresh: bytes) -> int:
        try:
            return await self._archive.keep(LogPlace.of(run.row), start, fresh)
        except LogBroken as error:
            raise ProblemError(Problem.ALREADY_KEPT, str(error)) from error

    async def _count(self, run: HeldRun, start: int, kept: bytes) -> int:
        end = start + len(kept)
        if await advance_log(self._database, run.id, run.claim.token_hash, start=start, end=end):
            await self._tell(run, start, kept)
            return end
        # Another request with the same bytes was faster, or the token is void.
        row = await log_end(self._database, run.id)
        if row is None:
            raise NotFound("run", run.id)
        if row["log_end"] <= start:
            raise LeaseLost(run.id, run.claim.epoch, run.claim.epoch)
        return row["log_end"]

    async def _tell(self, run: HeldRun, start: int, kept: bytes) -> None:
        try:
            await self._bus.publish(subjects.run_log(run.id), kept, headers={OFFSET_HEADER: str(start)})
        except Unavailable as error:
            _log.warning("a piece of a log was kept and could not be told", run=str(run.id), reason=str(error))
