"""One replica's relay: unpublished rows to JetStream, in order per aggregate, marked only once acknowledged."""

import asyncio
import random
from datetime import datetime

import structlog

from locktender.contracts.kernel.backoff import Backoff
from locktender.contracts.kernel.errors import Unavailable
from locktender.contracts.kernel.faults import FaultPoints
from locktender.outbox.publisher import Answers, Publisher
from locktender.outbox.shards import ShardLeases
from locktender.runtime.bus import Bus
from locktender.storage.outbox.relay import Failed, Pending, Relay

_log = structlog.stdlib.get_logger(__name__)

_RETRY = Backoff(first=0.1, ceiling=30.0)
_REDRIVE_ROWS = 20_000


class OutboxRelay:
    """Publishes for ever: a row is tried again until JetStream has acknowledged it, and is never skipped.

    Delivery is at least once. A crash or a lost acknowledgement leads to the same event id on the wire again.
    """

    def __init__(
        self, outbox: Relay, publisher: Publisher, leases: ShardLeases, bus: Bus, faults: FaultPoints, *, batch: int
    ) -> None:
        self._outbox = outbox
        self._publisher = publisher
        self._leases = leases
        self._bus = bus
        self._faults = faults
        self._batch = batch
        self._turn = asyncio.Lock()

    async def round(self) -> bool:
        """Publish one batch. True: something was published, so there may be more.

        Raises:
            Unavailable: the database is away, or JetStream acknowledged nothing of what was sent.
        """
        async with self._turn:
            await self._leases.give_back()
            shards = self._leases.current()
            if not shards or not self._bus.connected:
                return False
            rows = await self._outbox.unpublished(shards, self._batch)
            if not rows:
                return False
            return await self._publish(rows)

    async def redrive(self, window: float, before: datetime) -> int:
        """Tell the events of the last `window` seconds that were published by `before` once more. How many they are.

        Nothing is published in between, so that the events of an aggregate keep their order.
        """
        total = 0
        async with self._turn:
            while taken := await self._outbox.redrive(window=window, before=before, limit=_REDRIVE_ROWS):
                total += taken
        return total

    async def _publish(self, rows: list[Pending]) -> bool:
        await self._faults.reach("outbox.before-publish")
        answers = await self._publisher.publish(rows, may_send=self._leases.alive)
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


def _failure(row: Pending, reason: str) -> Failed:
    return Failed(row, reason[:500], _RETRY.delay(row.attempts + 1, random.random()))  # noqa: S311 - spreads load
