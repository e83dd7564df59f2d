"""Publishing with acknowledgements: many messages under way, never two of one aggregate."""

import asyncio
import json
from collections import deque
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import structlog
from nats.aio.msg import Msg
from nats.errors import ConnectionClosedError, Error, OutboundBufferLimitError

from locktender.contracts.kernel.clock import Clock
from locktender.contracts.kernel.errors import Unavailable
from locktender.contracts.kernel.subjects import MESSAGE_LIMIT, STREAMS
from locktender.runtime.bus import Bus
from locktender.runtime.header_block import HeaderBlock
from locktender.storage.outbox.relay import Pending

_log = structlog.stdlib.get_logger(__name__)

_EXPECTED_STREAM = "Nats-Expected-Stream"
_PREFIXES = tuple((subject.removesuffix(">"), spec.name) for spec in STREAMS for subject in spec.subjects)
_UNAVAILABLE = 503


@dataclass(frozen=True, slots=True)
class Answers:
    """What became of a batch. Rows in none of the lists were not sent; they are as they were.

    Attributes:
        acked: JetStream has stored these.
        refused: JetStream said no to these, and why.
        unanswered: nobody knows; publishing the same id again is safe.
    """

    acked: list[Pending] = field(default_factory=list[Pending])
    refused: list[tuple[Pending, str]] = field(default_factory=list[tuple[Pending, str]])
    unanswered: list[tuple[Pending, str]] = field(default_factory=list[tuple[Pending, str]])


class _Batch:
    """The rows of one round: what may go now, and what follows once its predecessor is stored."""

    def __init__(self, rows: Sequence[Pending]) -> None:
        self.ready: deque[Pending] = deque()
        self._followers: dict[str, deque[Pending]] = {}
        for row in rows:
            waiting = self._followers.get(row.envelope.aggregate)
            if waiting is None:
                self._followers[row.envelope.aggregate] = deque()
                self.ready.append(row)
            else:
                waiting.append(row)

    def stored(self, row: Pending) -> None:
        followers = self._followers[row.envelope.aggregate]
        if followers:
            self.ready.append(followers.popleft())


class Publisher:
    """Messages to JetStream from one process. Belongs to one batch at a time.

    The order within an aggregate holds because its next message leaves only after the last one was acknowledged.
    Open it with `opened`.

    Args:
        window: most messages under way at a time.
        ack_seconds: how long an acknowledgement is waited for.
        on_trouble: called when a stream seems to be missing or to have lost messages.
    """

    def __init__(
        self, bus: Bus, clock: Clock, *, window: int, ack_seconds: float, on_trouble: Callable[[], None]
    ) -> None:
        self._bus = bus
        self._clock = clock
        self._window = window
        self._ack_seconds = ack_seconds
        self._on_trouble = on_trouble
        self._inbox = ""
        self._serial = 0
        self._under_way: dict[str, tuple[Pending, float]] = {}
        self._answers: deque[tuple[Pending, str | None, bool]] = deque()
        self._answered = asyncio.Event()
        self.last_acked: dict[str, int] = {}
        """The highest message number that each stream has acknowledged."""
        self.rewound: set[str] = set()
        """Streams that acknowledged a new message under an old number: they have lost messages."""
        self.oversized = 0
        """Messages above the limit, which no message of ours should reach."""

    @asynccontextmanager
    async def opened(self) -> AsyncGenerator[None]:
        """Listen for acknowledgements while the context is open.

        Raises:
            Unavailable: the connection is closed.
        """
        self._inbox = self._bus.client.new_inbox()
        subscription = await self._bus.subscribe(f"{self._inbox}.*", self._on_answer)
        remove_hook = self._bus.on_reconnect(self._abandon)
        try:
            yield
        finally:
            remove_hook()
            await self._bus.unsubscribe(subscription)

    def forget(self, stream: str) -> None:
        """Start anew with what is known of a stream, because it was made anew."""
        self.last_acked.pop(stream, None)
        self.rewound.discard(stream)

    async def publish(self, rows: Sequence[Pending], *, may_send: Callable[[], bool]) -> Answers:
        """Publish `rows`, which hold for each aggregate a gapless run in order, until each is answered or given up.

        `may_send` is asked before every message; once it says no, nothing more is sent and the rest is waited for.

        Raises:
            Unavailable: the connection is closed for good.
        """
        batch, answers = _Batch(rows), Answers()
        while True:
            while batch.ready and len(self._under_way) < self._window and may_send():
                await self._send(batch.ready.popleft())
            if not self._under_way and not self._answers:
                return answers
            await self._some_answers()
            while self._answers:
                row, refusal, unknown = self._answers.popleft()
                if refusal is None:
                    answers.acked.append(row)
                    batch.stored(row)
                else:
                    (answers.unanswered if unknown else answers.refused).append((row, refusal))

    async def _send(self, row: Pending) -> None:
        envelope = row.envelope
        body = envelope.body()
        if len(body) > MESSAGE_LIMIT:
            # Told all the same: an event that is too long is a fault of ours, one that is missing would be a lie.
            self.oversized += 1
            _log.error("a message is above the limit", event_id=str(envelope.event_id), bytes=len(body))
        self._serial += 1
        token = str(self._serial)
        self._under_way[token] = (row, self._clock.monotonic() + self._ack_seconds)
        try:
            await self._bus.client.publish(
                envelope.subject,
                body,
                reply=f"{self._inbox}.{token}",
                headers=HeaderBlock(envelope.headers(), **{_EXPECTED_STREAM: _stream_of(envelope.subject)}),
            )
        except ConnectionClosedError as error:
            self._abandon()
            raise Unavailable("the connection to NATS is closed for good") from error
        except (OutboundBufferLimitError, OSError) as error:
            self._settle(token, str(error) or type(error).__name__, unknown=True)
        except (Error, ValueError, TypeError, AttributeError) as error:
            # The client refuses this very message; its neighbours are not to blame.
            self._settle(token, f"cannot be sent: {str(error) or type(error).__name__}")

    async def _some_answers(self) -> None:
        """Return when there are answers. What has waited too long is answered here, as unknown."""
        if self._answers:
            return
        self._answered.clear()
        oldest = next(iter(self._under_way.values()))[1]
        try:
            async with asyncio.timeout(max(oldest - self._clock.monotonic(), 0.001)):
                await self._answered.wait()
        except TimeoutError:
            now = self._clock.monotonic()
            for token in [token for token, (_, due) in self._under_way.items() if due <= now]:
                self._settle(token, "no acknowledgement in time", unknown=True)

    async def _on_answer(self, message: Msg) -> None:
        token = message.subject[len(self._inbox) + 1 :]
        if token not in self._under_way:
            return  # too late: it already counts as unknown, and is published again under the same id
        if message.headers and message.headers.get("Status") == str(_UNAVAILABLE):
            self._on_trouble()
            self._settle(token, "no stream takes this subject", unknown=True)
            return
        try:
            answer: Any = json.loads(message.data)
            if error := answer.get("error"):
                self._on_trouble()
                self._settle(token, f"JetStream: {error['description']}", unknown=error["code"] == _UNAVAILABLE)
                return
            self._note(answer["stream"], answer["seq"], duplicate=answer.get("duplicate", False))
        except (ValueError, AttributeError, KeyError, TypeError):
            self._settle(token, "the acknowledgement cannot be read", unknown=True)
            return
        self._settle(token, None)

    def _note(self, stream: str, seq: int, *, duplicate: bool) -> None:
        last = self.last_acked.get(stream, 0)
        if seq > last:
            self.last_acked[stream] = seq
        elif not duplicate:
            self.rewound.add(stream)
            self._on_trouble()

    def _settle(self, token: str, refusal: str | None, *, unknown: bool = False) -> None:
        row, _ = self._under_way.pop(token)
        self._answers.append((row, refusal, unknown))
        self._answered.set()

    def _abandon(self) -> None:
        """Acknowledgements that were due on the old connection will not come on the new one."""
        for token in tuple(self._under_way):
            self._settle(token, "the connection was lost before the acknowledgement", unknown=True)


def _stream_of(subject: str) -> str:
    for prefix, stream in _PREFIXES:
        if subject.startswith(prefix):
            return stream
    raise ValueError("no stream is declared for its subject")
