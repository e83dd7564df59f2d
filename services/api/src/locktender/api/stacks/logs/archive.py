"""The record of what runs said: one object a piece, named by where it begins."""

from bisect import bisect_right
from collections.abc import AsyncGenerator
from dataclasses import dataclass

from locktender.contracts.kernel.errors import LocktenderError
from locktender.integrations.objects.errors import ObjectExists, ObjectMissing
from locktender.integrations.objects.places import Family, RunPlace
from locktender.integrations.objects.store import ObjectStore
from locktender.storage.kernel.database import Row

_MOST_PIECES = 100_000


class LogBroken(LocktenderError):
    """The record holds less than the row says, or another text than was sent for it."""


@dataclass(frozen=True, slots=True)
class LogPlace:
    """Whose log it is."""

    run: RunPlace

    @classmethod
    def of(cls, row: Row) -> "LogPlace":
        """The log of a run's row."""
        return cls(RunPlace(row["workspace"], row["stack_id"], row["id"]))

    @property
    def folder(self) -> str:
        """Where its pieces are."""
        return self.run.folder(Family.LOG)

    def piece(self, start: int) -> str:
        """The name of the piece that begins at `start`. Names sort as their numbers do."""
        return f"{self.folder}/{start:012d}"


class LogArchive:
    """Pieces are written once and never changed, so that a late repeat cannot rewrite what was told already.

    A piece counts from where it begins to where the next one begins, or to the end on the run's row: a piece whose
    request was broken off before the row moved may be longer than what was sent in its place.
    """

    def __init__(self, store: ObjectStore) -> None:
        self._store = store

    async def keep(self, place: LogPlace, start: int, data: bytes) -> int:
        """Keep a piece; how many of its bytes are kept now. Fewer than all where a shorter piece was there already.

        Raises:
            LogBroken: other bytes are kept there.
        """
        try:
            await self._store.put(place.piece(start), data, once=True)
        except ObjectExists:
            kept = await self._store.get(place.piece(start))
            common = min(len(kept), len(data))
            if not common or kept[:common] != data[:common]:
                raise LogBroken("other bytes are kept at this place of the log") from None
            return common
        return len(data)

    async def pieces(self, place: LogPlace, start: int, end: int) -> AsyncGenerator[bytes]:
        """The bytes from `start` to `end`, in order, as they were kept.

        Raises:
            LogBroken: some are missing.
            ObjectUnreadable: some cannot be decrypted.
            Unavailable: the store does not answer.
        """
        if start >= end:
            return
        names = await self._store.list(place.folder, limit=_MOST_PIECES)
        starts = [each for each in (int(name.rpartition("/")[2]) for name in names) if each < end]
        first = bisect_right(starts, start) - 1
        if first < 0:
            raise LogBroken("the beginning of the log is missing")
        at = start
        for begins, until in zip(starts[first:], [*starts[first + 1 :], end], strict=True):
            try:
                kept = await self._store.get(place.piece(begins))
            except ObjectMissing:
                raise LogBroken("a part of the log is missing") from None
            wanted = kept[at - begins : until - begins]
            if len(wanted) != until - at:
                raise LogBroken("a part of the log is missing")
            yield wanted
            at = until

    async def read(self, place: LogPlace, start: int, end: int) -> bytes:
        """All of it at once."""
        return b"".join([piece async for piece in self.pieces(place, start, end)])
