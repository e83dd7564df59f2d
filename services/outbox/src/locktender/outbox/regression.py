"""Noticing that JetStream has lost a stream, or part of it, and telling its events once more."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta

import structlog

from locktender.contracts.kernel.errors import Unavailable
from locktender.contracts.kernel.subjects import COMMANDS_STREAM, EVENTS_STREAM, STREAMS
from locktender.outbox.publisher import Publisher
from locktender.outbox.relay import OutboxRelay
from locktender.outbox.streams import Seen, Streams
from locktender.runtime.bus import Bus
from locktender.storage.outbox.relay import Relay

_log = structlog.stdlib.get_logger(__name__)

_STREAMS = tuple(spec.name for spec in STREAMS)
_CLOCK_MARGIN = timedelta(seconds=5)
"""How far the clocks of the database and the broker may be apart."""


class StreamWatch:
    """Compares the streams with what is known of them. A look that finds nothing changed costs no query.

    A stream that is missing, was made anew or went back to a lower message number has lost messages. Events are then
    told again from the outbox, as far back as it reaches; commands come again from the reaper, which asks the rows.
    Marks are taken back before a stream is made, so that a crash in between loses nothing.
    """

    def __init__(
        self,
        streams: Streams,
        publishers: Sequence[Publisher],
        relay: OutboxRelay,
        outbox: Relay,
        bus: Bus,
        *,
        window: float,
    ) -> None:
        self._streams = streams
        self._publishers = publishers
        self._relay = relay
        self._outbox = outbox
        self._bus = bus
        self._window = window
        self._known: Mapping[str, Seen] | None = None

    async def look(self) -> bool:
        """Look once, and repair what is wrong. Always False: there is nothing left to do at once.

        Raises:
            Unavailable: JetStream or the database did not answer; look again later.
        """
        # Taken before the look: what is acknowledged while the server answers need not be in its answer.
        acked = {stream: max(each.last_acked.get(stream, 0) for each in self._publishers) for stream in _STREAMS}
        seen = await self._streams.look()
        if self._known is None:
            await self._first_look(seen)
        else:
            await self._repair(seen, self._known, acked)
        for change in await self._streams.ensure():
            _log.info("streams declared", change=change)
        self._known = await self._streams.look()
        return False

    @property
    def declared(self) -> bool:
        """Whether a look has been completed, so that the streams are there and what they had lost is told first."""
        return self._known is not None

    async def check(self) -> None:
        """A health check.

        Raises:
            Unavailable: the streams have not been declared yet, or a stream was gone at the last look.
        """
        if self._known is None or len(self._known) < len(_STREAMS):
            raise Unavailable("the streams have not been declared yet")

    async def _first_look(self, seen: Mapping[str, Seen]) -> None:
        """What was published before the stream was made cannot be in it, whoever made it."""
        events = seen.get(EVENTS_STREAM)
        now = await self._outbox.now()
        before = now if events is None else events.created + _CLOCK_MARGIN
        if before > now - timedelta(seconds=self._window):
            await self._tell_again(min(before, now), "published before the stream was made")

    async def _repair(self, seen: Mapping[str, Seen], known: Mapping[str, Seen], acked: Mapping[str, int]) -> None:
        losses = {
            stream: reason
            for stream in known
            if (reason := self._loss(stream, seen.get(stream), known[stream], acked[stream]))
        }
        for stream, reason in losses.items():
            _log.error("a stream has lost messages", stream=stream, reason=reason)
            for each in self._publishers:
                each.forget(stream)
        if EVENTS_STREAM in losses:
            await self._tell_again(await self._outbox.now(), losses[EVENTS_STREAM])
        if COMMANDS_STREAM in losses:
            self._bus.poke("reaper")

    def _loss(self, stream: str, seen: Seen | None, known: Seen, acked: int) -> str | None:
        if seen is None:
            return "it is gone"
        if seen.created != known.created:
            return "it was made anew"
        last = max(known.last_seq, acked)
        if seen.last_seq < last or any(stream in each.rewound for each in self._publishers):
            return f"it ends at message {seen.last_seq}, and {last} was acknowledged"
        return None

    async def _tell_again(self, before: datetime, reason: str) -> None:
        if events := await self._relay.redrive(self._window, before):
            _log.warning("events are told again", events=events, reason=reason)
