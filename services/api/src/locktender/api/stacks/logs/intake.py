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
_MIB = 1024 * 1024


class LogIntake:
    """Takes pieces of logs in order. The end on the row never names bytes that are not kept.

    Behind `most_bytes` a line is kept that says that the log was cut there, and nothing more. What comes then is
    acknowledged and forgotten, so that a runner goes on as if it were kept: a run never fails because of its log.
    """

    def __init__(self, *, database: Database, archive: LogArchive, bus: Bus, most_bytes: int) -> None:
        self._database = database
        self._archive = archive
        self._bus = bus
        self._most = most_bytes

    async def __call__(self, run: HeldRun, offset: int, data: bytes) -> int:
        """Keep what is new of `data`, which begins at `offset`; where the next piece begins.

        What is kept already is not kept twice. Fewer bytes may be taken than were sent; the rest is sent again.

        Raises:
            ProblemError: bytes before this piece are missing, or other bytes are kept at this place.
            LeaseLost: the run ended meanwhile.
        """
        end: int = run.row["log_end"]
        cut: bool = run.row["log_cut"]
        for _ in range(_ROUNDS):
            if cut:
                # The row ends with our own line, so the runner goes on by what it has sent.
                return offset + len(data)
            if offset > end:
                raise ProblemError(
                    Problem.LOG_GAP, f"the log is kept up to byte {end}; go on there, and leave nothing out"
                )
            fresh = data[end - offset :]
            if not fresh:
                return end
            room = self._most - end
            kept = await self._keep(run, end, fresh[:room] if room > 0 else self._last_line())
            end, cut = await self._count(run, end, kept, cut=room <= 0)
        return offset + len(data) if cut else end

    def _last_line(self) -> bytes:
        size = f"{self._most / _MIB:g} MiB" if self._most >= _MIB else f"{self._most} bytes"
        return f"\n[locktender] The log is cut here, at {size}. The run goes on; what it says is not kept.\n".encode()

    async def _keep(self, run: HeldRun, start: int, fresh: bytes) -> bytes:
        try:
            return fresh[: await self._archive.keep(LogPlace.of(run.row), start, fresh)]
        except LogBroken as error:
            raise ProblemError(Problem.ALREADY_KEPT, str(error)) from error

    async def _count(self, run: HeldRun, start: int, kept: bytes, *, cut: bool) -> tuple[int, bool]:
        """Where the log ends now, and whether it was cut there."""
        end = start + len(kept)
        if await advance_log(self._database, run.id, run.claim.token_hash, start=start, end=end, cut=cut):
            await self._tell(run, start, kept)
            return end, cut
        # Another request with the same bytes was faster, or the token is void.
        row = await log_end(self._database, run.id)
        if row is None:
            raise NotFound("run", run.id)
        if row["log_end"] <= start:
            raise LeaseLost(run.id, run.claim.epoch, run.claim.epoch)
        return row["log_end"], row["log_cut"]

    async def _tell(self, run: HeldRun, start: int, kept: bytes) -> None:
        try:
            await self._bus.publish(subjects.run_log(run.id), kept, headers={OFFSET_HEADER: str(start)})
        except Unavailable as error:
            _log.warning("a piece of a log was kept and could not be told", run=str(run.id), reason=str(error))
