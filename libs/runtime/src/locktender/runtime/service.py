"""Running one service from start to exit code."""

import asyncio
import os
import signal
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import Generic, TypeVar

import structlog

from locktender.contracts.kernel.clock import Clock
from locktender.contracts.kernel.errors import Unavailable
from locktender.contracts.kernel.faults import NO_FAULTS, FaultPoints
from locktender.contracts.kernel.ids import new_owner
from locktender.contracts.kernel.lease import Owner
from locktender.runtime.bus import Bus
from locktender.runtime.clock import SystemClock
from locktender.runtime.connect import connect_bus
from locktender.runtime.health import Health, serve_health
from locktender.runtime.logs import configure_logs
from locktender.runtime.race import first_of
from locktender.runtime.settings import ProcessSettings
from locktender.runtime.stop import Stop
from locktender.runtime.traces import configure_traces

_log = structlog.stdlib.get_logger(__name__)

S = TypeVar("S", bound=ProcessSettings)

EXIT_OK = 0
EXIT_FAILED = 1
EXIT_UNAVAILABLE = 5
EXIT_INTERRUPTED = 130

_GRACE_SECONDS = 5.0
"""What `main` may take beyond its drain time before it is cancelled."""


@dataclass(frozen=True, slots=True)
class Service(Generic[S]):
    """What a service's `main` is given."""

    name: str
    owner: Owner
    stop: Stop
    clock: Clock
    bus: Bus
    settings: S
    health: Health
    faults: FaultPoints


def run_service(
    name: str,
    main: Callable[[Service[S]], Awaitable[None]],
    settings: S,
    *,
    faults: FaultPoints = NO_FAULTS,
) -> int:
    """Run `main` until it returns, and give the process's exit code.

    SIGTERM or SIGINT requests a stop; a second one ends the process at once with 130. After a stop, `main` has the
    drain time and 5 s more, then it is cancelled. 0: it returned. 1: it failed, was cut off, or the bus connection
    closed for good. 5: something it needs, the bus first, was unavailable. Every failure is logged once.
    """
    configure_logs(name, settings.instance, level=settings.log_level, form=settings.log_format)
    flush_traces = configure_traces(name, settings.instance, settings.otlp_endpoint)
    try:
        with asyncio.Runner(loop_factory=_loop_factory()) as runner:
            return runner.run(_run(name, main, settings, faults))
    finally:
        flush_traces()


async def _run(name: str, main: Callable[[Service[S]], Awaitable[None]], settings: S, faults: FaultPoints) -> int:
    stop = Stop()
    _install_signals(stop)
    try:
        async with _context(name, stop, settings, faults) as service:
            _log.info("started", owner=service.owner)
            await _bounded(main(service), stop, settings.drain_seconds + _GRACE_SECONDS)
            dead = service.bus.dead
    except Exception as error:  # noqa: BLE001 - the last place where a failure can become an exit code
        return _verdict(error)
    _log.info("stopped")
    return EXIT_FAILED if dead else EXIT_OK


@asynccontextmanager
async def _context(name: str, stop: Stop, settings: S, faults: FaultPoints) -> AsyncGenerator[Service[S]]:
    clock = SystemClock()
    health = Health(stop)
    async with AsyncExitStack() as stack:
        if settings.health_port:
            await stack.enter_async_context(serve_health(health, settings.health_port, settings.health_host))
        bus = await connect_bus(settings, name, clock=clock, on_closed=stop.request)
        stack.push_async_callback(bus.close)
        health.add("bus", bus.check)
        yield Service(name, new_owner(settings.instance), stop, clock, bus, settings, health, faults)


async def _bounded(main: Awaitable[None], stop: Stop, seconds: float) -> None:
    """Await `main`; once a stop is requested, for at most `seconds` more."""

    async def body() -> None:
        await main

    async def overtime() -> None:
        await stop.wait()
        await asyncio.sleep(seconds)

    if await first_of(body(), overtime()):
        raise TimeoutError(f"the service did not end within {seconds:g} s after the stop")


def _install_signals(stop: Stop) -> None:
    loop = asyncio.get_running_loop()

    def on_signal() -> None:
        if stop.requested:
            os._exit(EXIT_INTERRUPTED)
        _log.info("stop requested")
        stop.request()

    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, on_signal)


def _verdict(error: Exception) -> int:
    causes = list(_leaves(error))
    if all(isinstance(cause, Unavailable) for cause in causes):
        _log.error("something the service needs is unavailable", reason="; ".join(str(cause) for cause in causes))
        return EXIT_UNAVAILABLE
    _log.error("the service failed", exc_info=error)
    return EXIT_FAILED


def _leaves(error: BaseException) -> Iterator[BaseException]:
    if isinstance(error, BaseExceptionGroup):
        for inner in error.exceptions:  # pyright: ignore[reportUnknownVariableType,reportUnknownMemberType]  # any group
            yield from _leaves(inner)  # pyright: ignore[reportUnknownArgumentType]  # as above
    else:
        yield error


def _loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    try:
        import uvloop  # noqa: PLC0415 - optional: it is faster where it exists
    except ImportError:
        return None
    return uvloop.new_event_loop
