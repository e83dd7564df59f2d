"""Unpublished rows to JetStream, in order per aggregate, marked only once acknowledged."""

import asyncio
import random
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import datetime

import structlog

from locktender.contracts.kernel.backoff import Backoff
from locktender.contracts.kernel.errors import Unavailable
from locktender.contracts.kernel.faults import FaultPoints
from locktender.outbox.publisher import Answers, Publisher
from locktender.runtime.bus import Bus
from locktender.storage.outbox.relay import Failed, Pending, Relay

_log = structlog.stdlib.get_logger(__name__)

_RETRY = Backoff(first=0.1, ceiling=30.0)
_REDRIVE_ROWS = 20_000


class Lane:
    """Publishes the rows of some shards for ever: a row is tried again until it is acknowledged, and never skipped.

    Delivery is at least once. A crash or a lost acknowledgement leads to the same event id on the wire again.
    """

    def __init__(
        self,
        outbox: Relay,
        publisher: Publisher,
        bus: Bus,
        faults: FaultPoints,
        *,
        batch: int,
        shards: Callable[[], Sequence[int]],
        may_send: Callable[[], bool],
    ) -> None:
        self._outbox = outbox
        self._publisher = publisher
        self._bus = bus
        self._faults = faults
        self._batch = batch
        self._shards = shards
        self._may_send = may_send
        self.turn = asyncio.Lock()
        """Held while a batch is read, published and marked."""

    async def round(self) -> bool:
        """Publish one batch. True: something was published, so there may be more.

        Raises:
            Unavailable: the database is away, or JetStream acknowledged nothing of what was sent.
        """
        async with self.turn:
            shards = self._shards()
            if not shards or not self._bus.connected:
                return False
            rows = await self._outbox.unpublished(shards, self._batch)
            return await self._publish(rows) if rows else False

    async def _publish(self, rows: list[Pending]) -> bool:
        await self._faults.reach("outbox.before-publish")
        answers = await self._publisher.publish(rows, may_send=self._may_send)
        await self._faults.reach("outbox.after-publish")
        if answers.acked:
            await self._outbox.published(answers.acked)
        await self._faults.reach("outbox.after-mark")
        await self._note(answers)
        return bool(answers.acked)

    async def _note(self, answers: Answers) -> None:
        """Let rows that failed wait, each with all that follow it.

        When nothing at all was acknowledged the fault lies with the broker and not with the rows: then the relay
        waits as a whole and the rows stay as they are, ready for the moment when it is back.
        """
        failed = list(answers.refused)
        if answers.acked:
            failed += answers.unanswered
        if failed:
            await self._outbox.failed([_failure(row, reason) for row, reason in failed])
            row, reason = failed[0]
            _log.warning(
                "rows will be published later", rows=len(failed), reason=reason, event_id=str(row.envelope.event_id)
            )
        if answers.unanswered and not answers.acked:
            raise Unavailable(
                f"JetStream acknowledged none of {len(answers.unanswered)} messages: {answers.unanswered[0][1]}"
            )


class OutboxRelay:
    """The lanes of one replica: while one waits for the database, another publishes. No shard is in two lanes."""

    def __init__(self, outbox: Relay, lanes: Sequence[Lane]) -> None:
        self._outbox = outbox
        self.lanes = tuple(lanes)

    @asynccontextmanager
    async def quiet(self) -> AsyncGenerator[None]:
        """No lane publishes while the context is open. Entering it waits for the batches under way."""
        async with AsyncExitStack() as turns:
            for lane in self.lanes:
                await turns.enter_async_context(lane.turn)
            yield

    async def redrive(self, window: float, before: datetime) -> int:
        """Tell the events of the last `window` seconds that were published by `before` once more. How many they are.

        Nothing is published in between, so that the events of an aggregate keep their order.
        """
        total = 0
        async with self.quiet():
            while taken := await self._outbox.redrive(window=window, before=before, limit=_REDRIVE_ROWS):
                total += taken
        return total


def _failure(row: Pending, reason: str) -> Failed:
    return Failed(row, reason[:500], _RETRY.delay(row.attempts + 1, random.random()))  # noqa: S311 - spreads load
