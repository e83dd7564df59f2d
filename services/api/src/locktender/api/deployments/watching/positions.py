"""Where a reader of a project's stream stands, in a text that any replica understands, and what it has missed."""

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Self
from uuid import UUID

from locktender.api.deployments.reading.projections import Shown

_LATE = timedelta(seconds=60)
"""How long before its commit a change may have been stamped, generously: no statement may take so long."""
_TEXT = re.compile(r"([0-9]{1,16})-([0-9]{1,3})-([0-9a-f]{1,16})")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MASK = (1 << 64) - 1


@dataclass(frozen=True, slots=True)
class Position:
    """What a reader was told: the state of the list at a moment, and since then perhaps more.

    Attributes:
        read_at: everything up to here was told; microseconds of the database's clock since 1970.
        count: how many tasks the reader knows.
        digest: which tasks those are.
    """

    read_at: int
    count: int
    digest: int

    @classmethod
    def of(cls, read_at: datetime, told: Collection[UUID]) -> Self:
        """The position of a reader that knows these tasks."""
        return cls((read_at - _EPOCH) // timedelta(microseconds=1), len(told), _digest(told))

    @classmethod
    def parsed(cls, text: str) -> Self | None:
        """The position in a `Last-Event-ID`; None for anything else."""
        found = _TEXT.fullmatch(text)
        return cls(int(found[1]), int(found[2]), int(found[3], 16)) if found else None

    def __str__(self) -> str:
        return f"{self.read_at}-{self.count}-{self.digest:x}"


def missed(position: Position | None, shown: Sequence[Shown], read_at: datetime | None) -> list[Shown] | None:
    """Of a list, newest first, what a reader has to be told to be up to date: perhaps more, never less.

    None when that cannot be known: the reader has tasks that are no longer in the list, or the position is not ours.
    """
    if position is None or read_at is None or position.count > len(shown):
        return None
    now = (read_at - _EPOCH) // timedelta(microseconds=1)
    fresh, known = shown[: len(shown) - position.count], shown[len(shown) - position.count :]
    if position.read_at > now or _digest(each.projection.id for each in known) != position.digest:
        return None
    since = _EPOCH + timedelta(microseconds=position.read_at) - _LATE
    overtaken = {each.projection.predecessor_id for each in shown if each.created_at >= since}
    return [*fresh, *(each for each in known if _moved(each, since) or each.projection.id in overtaken)]


def _moved(each: Shown, since: datetime) -> bool:
    """Whether the task changed, or left the canvas, after that moment."""
    until = each.projection.visible_until
    return each.projection.updated_at >= since or (until is not None and since <= until <= each.read_at)


def _digest(ids: Iterable[UUID]) -> int:
    made = 0
    for each in ids:
        made ^= each.int & _MASK
    return made
