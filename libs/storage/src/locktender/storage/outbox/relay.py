"""What the relay reads and marks. It takes unpublished rows, never a bare cursor: late committers would be lost."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import ARRAY, BigInteger, DateTime, Float, SmallInteger, Text, func, null, select, update

from locktender.contracts.kernel.envelope import Envelope
from locktender.contracts.kernel.errors import Unavailable
from locktender.storage.kernel.clock import db_now, seconds
from locktender.storage.kernel.database import Database, Row
from locktender.storage.kernel.guarded import unnested
from locktender.storage.kernel.statement import Statement, constant, parameter
from locktender.storage.kernel.tables import outbox

_o = outbox.c


@dataclass(frozen=True, slots=True)
class Pending:
    """An unpublished row: where it stands, and what goes out."""

    created_at: datetime
    seq: int
    attempts: int
    envelope: Envelope


@dataclass(frozen=True, slots=True)
class Failed:
    """A row that the broker did not take, and when to try it again."""

    pending: Pending
    error: str
    delay: float


def _unpublished() -> Statement:
    held_back = (
        select(_o.aggregate)
        .where(_o.published_at.is_(None), _o.next_attempt_at.is_not(None), _o.next_attempt_at > db_now())
        .distinct()
        .scalar_subquery()
    )
    return Statement(
        "outbox.unpublished",
        select(
            _o.created_at, _o.seq, _o.attempts, _o.event_id, _o.subject, _o.type, _o.aggregate, _o.revision,
            _o.tombstone, _o.data, _o.headers,
        )
        .where(
            _o.published_at.is_(None),
            _o.shard == func.any(parameter("shards", ARRAY(SmallInteger()))),
            # A row whose predecessor failed waits with it: no aggregate is ever told out of order.
            _o.aggregate.not_in(held_back),
        )
        .order_by(_o.seq)
        .limit(parameter("limit", BigInteger())),
    )  # fmt: skip


_UNPUBLISHED = _unpublished()

_keys = unnested("key", {"created_at": DateTime(timezone=True), "seq": BigInteger()})
_PUBLISHED = Statement(
    "outbox.published",
    update(outbox)
    .where(_o.created_at == _keys.c.created_at, _o.seq == _keys.c.seq, _o.published_at.is_(None))
    .values(published_at=db_now(), next_attempt_at=null(), last_error=null())
    .returning(_o.seq),
)

_failures = unnested(
    "failure",
    {"created_at": DateTime(timezone=True), "seq": BigInteger(), "error": Text(), "delay": Float()},
)
_FAILED = Statement(
    "outbox.failed",
    update(outbox)
    .where(_o.created_at == _failures.c.created_at, _o.seq == _failures.c.seq, _o.published_at.is_(None))
    .values(
        attempts=_o.attempts + 1,
        last_error=_failures.c.error,
        next_attempt_at=db_now() + func.make_interval(0, 0, 0, 0, 0, 0, _failures.c.delay),
    )
    .returning(_o.seq),
)

_BACKLOG = Statement(
    "outbox.backlog",
    select(
        func.count().label("rows"),
        func.coalesce(func.extract("epoch", db_now() - func.min(_o.created_at)), constant(0)).label("oldest"),
    ).where(_o.published_at.is_(None)),
)

_told = (
    select(_o.created_at, _o.seq)
    .where(
        _o.created_at >= db_now() - seconds("window"),
        _o.created_at <= parameter("before", DateTime(timezone=True)),
        _o.revision.is_not(None),
        _o.published_at <= parameter("before", DateTime(timezone=True)),
    )
    .order_by(_o.created_at, _o.seq)
    .limit(parameter("limit", BigInteger()))
    .cte("told")
)
_REDRIVE = Statement(
    "outbox.redrive",
    update(outbox)
    .where(_o.created_at == _told.c.created_at, _o.seq == _told.c.seq)
    # Counted as a try and with a reason: a row that is to be told again was neither forgotten nor told too late.
    .values(published_at=null(), next_attempt_at=null(), attempts=_o.attempts + 1, last_error=constant("redriven"))
    .returning(_o.seq),
)
_NOW = Statement("outbox.now", select(db_now().label("now")))


class Relay:
    """The outbox as the relay sees it."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def unpublished(self, shards: Sequence[int], limit: int) -> list[Pending]:
        """Rows of these shards in the order of their commit per aggregate; none whose predecessor waits for a retry.

        For each aggregate the answer is a gapless run from its first unpublished row on: `seq` is drawn under the
        aggregate's row lock, so a row that is seen implies that all before it are seen as well.
        """
        rows = await self._database.fetch(_UNPUBLISHED, shards=list(shards), limit=limit)
        return [_pending(row) for row in rows]

    async def published(self, rows: Sequence[Pending]) -> None:
        """Mark rows that the broker acknowledged. Marking twice changes nothing."""
        await self._database.fetch(
            _PUBLISHED, created_at=[row.created_at for row in rows], seq=[row.seq for row in rows]
        )

    async def failed(self, failures: Sequence[Failed]) -> None:
        """Note a failure; the row and all that follow it in its aggregate wait for the delay."""
        await self._database.fetch(
            _FAILED,
            created_at=[failure.pending.created_at for failure in failures],
            seq=[failure.pending.seq for failure in failures],
            error=[failure.error for failure in failures],
            delay=[failure.delay for failure in failures],
        )

    async def backlog(self) -> tuple[int, float]:
        """How many rows are unpublished, and the age of the oldest in seconds."""
        row = await self._database.fetch_one(_BACKLOG)
        return (0, 0.0) if row is None else (row["rows"], float(row["oldest"]))

    async def now(self) -> datetime:
        """The database's clock, to say up to when something was published."""
        row = await self._database.fetch_one(_NOW)
        if row is None:
            raise Unavailable("the database did not tell the time")
        return row["now"]

    async def redrive(self, *, window: float, before: datetime, limit: int) -> int:
        """Take back the mark of up to `limit` events of the last `window` seconds that were published by `before`.

        For when the broker has lost a stream. Commands are not among them: the reaper re-drives what is claimable.
        """
        return len(await self._database.fetch(_REDRIVE, window=window, before=before, limit=limit))


def _pending(row: Row) -> Pending:
    return Pending(
        created_at=row["created_at"],
        seq=row["seq"],
        attempts=row["attempts"],
        envelope=Envelope(
            event_id=row["event_id"],
            subject=row["subject"],
            type=row["type"],
            aggregate=row["aggregate"],
            revision=row["revision"],
            tombstone=row["tombstone"],
            time=row["created_at"],
            data=row["data"],
            trace=json.loads(row["headers"]),
        ),
    )
