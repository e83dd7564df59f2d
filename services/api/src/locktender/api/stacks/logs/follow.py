"""The stream of a log: from the record, then live, and never a byte twice or left out."""

import codecs
import json
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from uuid import UUID

import structlog

from locktender.api.http.sse import HEARTBEAT, RESYNC, RETRY, frame
from locktender.api.stacks.logs.archive import LogArchive, LogPlace
from locktender.api.stacks.logs.tails import LogFeed, LogTails, Piece
from locktender.contracts.kernel.clock import Clock
from locktender.contracts.kernel.errors import LocktenderError, Unavailable
from locktender.contracts.stacks.flow import STACK_RUN, RunStatus
from locktender.storage.kernel.database import Row

_log = structlog.stdlib.get_logger(__name__)

_AWAY_SECONDS = 1.0
"""From one look at the record to the next while nothing can arrive, or when a look failed."""

Find = Callable[[UUID], Awaitable[Row | None]]


class _Reader:
    """How far one reader is. Its position is always between two characters, so that a stream can go on from it."""

    def __init__(self, position: int) -> None:
        self.heard = position
        self._told = position
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")

    def take(self, data: bytes, *, final: bool = False) -> bytes | None:
        """The event for the bytes that follow. None while a character is not complete."""
        text = self._decoder.decode(data, final)
        self.heard += len(data)
        start, self._told = self._told, self.heard - len(self._decoder.getstate()[0])
        if not text:
            return None
        return frame("log", json.dumps({"offset": start, "text": text}), self._told)


class LogStreams:
    """Streams of logs. What comes over the bus saves a look; the record decides, and is looked at after every gap."""

    def __init__(self, *, tails: LogTails, archive: LogArchive, find: Find, clock: Clock, heartbeat: float) -> None:
        self._tails = tails
        self._archive = archive
        self._find = find
        self._clock = clock
        self._heartbeat = heartbeat

    async def follow(self, run_id: UUID, last: int | None) -> AsyncGenerator[bytes]:
        """`log` with the text since `last`, and `end` when the run has ended and all of it was told."""
        yield RETRY
        try:
            feed = await self._tails.open(run_id)
        except Unavailable as error:
            yield _error(error)
            return
        try:
            async with aclosing(self._told(run_id, feed, last)) as told:
                async for each in told:
                    yield each
        finally:
            self._tails.release(run_id, feed)

    async def _told(self, run_id: UUID, feed: LogFeed, last: int | None) -> AsyncGenerator[bytes]:
        follower = _Follower(self._archive, self._find, run_id, last or 0)
        looks = True
        while not feed.closed:
            if looks:
                failed = None
                try:
                    async with aclosing(follower.look()) as shown:
                        async for each in shown:
                            yield each
                except LocktenderError as error:
                    failed = error
                if follower.over:
                    return
                yield HEARTBEAT if failed is None else _error(failed)
                steady = failed is None and self._tails.connected
                feed.alarm = self._clock.monotonic() + (self._heartbeat if steady else _AWAY_SECONDS)
            pieces = await feed.news()
            looks = pieces is None
            for piece in pieces or ():
                if not follower.reaches(piece):
                    looks = True
                    break
                told = follower.hear(piece)
                if told is not None:
                    yield told


class _Follower:
    """One reader of one log. `over`: nothing more will come."""

    def __init__(self, archive: LogArchive, find: Find, run_id: UUID, position: int) -> None:
        self.over = False
        self._archive = archive
        self._find = find
        self._run_id = run_id
        self._reader = _Reader(position)

    async def look(self) -> AsyncGenerator[bytes]:
        """What the record has and the reader has not."""
        row = await self._find(self._run_id)
        if row is None:
            self.over = True
            return
        if row["artifacts_removed_at"] is not None:
            self.over = True
            yield frame("error", json.dumps({"message": "the log was removed; the summary of the plan stays"}))
            return
        if self._reader.heard > row["log_end"]:
            # A position that is not ours is as good as none.
            self._reader = _Reader(0)
            yield RESYNC
        async for piece in self._archive.pieces(LogPlace.of(row), self._reader.heard, row["log_end"]):
            told = self._reader.take(piece)
            if told is not None:
                yield told
        if RunStatus(row["status"]) in STACK_RUN.terminal:
            rest = self._reader.take(b"", final=True)
            if rest is not None:
                yield rest
            yield frame("end", json.dumps({"status": row["status"], "end": row["log_end"]}), row["log_end"])
            self.over = True

    def reaches(self, piece: Piece) -> bool:
        """Whether nothing is missing between what was told and this piece."""
        return piece.start <= self._reader.heard

    def hear(self, piece: Piece) -> bytes | None:
        """What is new in a piece."""
        return self._reader.take(piece.data[self._reader.heard - piece.start :])


def _error(error: LocktenderError) -> bytes:
    _log.warning("a stream of a log could not be fed", reason=str(error))
    message = str(error) if isinstance(error, Unavailable) else "the record of this log cannot be read"
    return frame("error", json.dumps({"message": f"{message}; the stream goes on when it can"}))
