"""Opening the bus: who we are to the server, how long we try, and what is said when it goes wrong."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Protocol
from urllib.parse import urlsplit

import structlog

from locktender.contracts.kernel.clock import Clock
from locktender.contracts.kernel.errors import Unavailable
from locktender.runtime.bus import Bus
from locktender.runtime.clock import SystemClock
from locktender.runtime.header_block import BlockClient

_log = structlog.stdlib.get_logger(__name__)

FIRST_CONNECT_SECONDS = 8.0
_REPEAT_SECONDS = 10.0


class BusSettings(Protocol):
    """The settings that a connection needs."""

    @property
    def nats_url(self) -> str:
        """Address, several separated by commas."""
        ...

    @property
    def nats_seed_file(self) -> Path | None:
        """File with the NKey seed, where the server asks for one."""
        ...


async def connect_bus(
    settings: BusSettings,
    name: str,
    *,
    clock: Clock | None = None,
    on_closed: Callable[[], None] | None = None,
    first_connect_seconds: float = FIRST_CONNECT_SECONDS,
) -> Bus:
    """Connect as service `name`. Whoever calls this closes the bus.

    `on_closed` is called when the connection ends for good, for example because the server refuses us; a lost
    connection is not that: it is tried again for ever.

    Raises:
        Unavailable: no connection within `first_connect_seconds`, or the seed file cannot be used.
    """
    client = BlockClient()
    errors = _ErrorLog(clock or SystemClock())
    bus = Bus(client, on_closed=on_closed)
    try:
        async with asyncio.timeout(first_connect_seconds):
            await client.connect(
                settings.nats_url.split(","),
                name=f"locktender-{name}",
                error_cb=errors.tell,
                disconnected_cb=bus.disconnected,
                reconnected_cb=bus.reconnected,
                closed_cb=bus.closed,
                nkeys_seed=_seed(settings.nats_seed_file),
                inbox_prefix=f"_INBOX_{name}",
                max_reconnect_attempts=-1,
                reconnect_time_wait=0.25,  # pyright: ignore[reportArgumentType]  # fractions work, the client only sleeps
                connect_timeout=2,
                ping_interval=10,
                max_outstanding_pings=2,
                pending_size=8 * 1024 * 1024,
            )
    except Unavailable:
        await bus.close()
        raise
    except Exception as error:
        await bus.close()
        reason = errors.last or str(error) or type(error).__name__
        raise Unavailable(
            f"cannot connect to NATS at {_without_credentials(settings.nats_url)}: {reason}. "
            "Start it, or set LOCKTENDER_NATS_URL and LOCKTENDER_NATS_SEED_FILE."
        ) from error
    except BaseException:
        await bus.close()
        raise
    errors.quiet = False
    return bus


class _ErrorLog:
    """Logs what the client reports: the same thing once in 10 s, and nothing during the first connect."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._seen: dict[str, float] = {}
        self.quiet = True
        self.last = ""

    async def tell(self, error: Exception) -> None:
        self.last = text = str(error) or type(error).__name__
        now = self._clock.monotonic()
        if self.quiet or now - self._seen.get(text, -_REPEAT_SECONDS) < _REPEAT_SECONDS:
            return
        if len(self._seen) > 100:  # noqa: PLR2004 - only keeps the memory bounded
            self._seen.clear()
        self._seen[text] = now
        _log.warning("NATS client reports", reason=text, kind=type(error).__name__)


def _seed(path: Path | None) -> str | None:
    if path is None:
        return None
    if not path.is_file():
        raise Unavailable(f"the NATS seed file {path} does not exist: set LOCKTENDER_NATS_SEED_FILE")
    return str(path)


def _without_credentials(urls: str) -> str:
    return ",".join(urlsplit(url).netloc.rpartition("@")[2] or url.rpartition("@")[2] for url in urls.split(","))
