"""Is this process alive, and is it ready? A registry of checks and a very small HTTP server."""

import asyncio
import json
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass

from locktender.contracts.kernel.errors import LocktenderError, Unavailable
from locktender.runtime.stop import Stop

Check = Callable[[], Awaitable[object]]
"""Returns when all is well, raises when not."""

CHECK_SECONDS = 5.0
_REQUEST_SECONDS = 5.0
_REQUEST_BYTES = 8192


@dataclass(frozen=True, slots=True)
class Report:
    """What a look at every check found; `faults` has a reason for each that did not pass."""

    passed: tuple[str, ...]
    faults: dict[str, str]

    @property
    def ready(self) -> bool:
        """Whether every check passed."""
        return not self.faults

    def document(self) -> dict[str, object]:
        """The body of `/readyz`."""
        passed = {name: {"ok": True} for name in self.passed}
        failed = {name: {"ok": False, "reason": reason} for name, reason in self.faults.items()}
        return {"ready": self.ready, "checks": passed | failed}


class Health:
    """The checks of one process.

    Not ready before the process says that it can do its work, and not while stopping, so that nothing is sent here
    that would not be served.
    """

    def __init__(self, stop: Stop) -> None:
        self._stop = stop
        self._checks: dict[str, Check] = {}
        self._opened = False

    def opened(self) -> None:
        """The process does its work from now on; whether it is ready is up to the checks."""
        self._opened = True

    def add(self, name: str, check: Check) -> None:
        """Count `check` from now on; it replaces one of the same name."""
        self._checks[name] = check

    async def report(self) -> Report:
        """Run all checks side by side. Takes at most 5 s; a check that does not answer by then has failed."""
        if self._stop.requested:
            return Report((), {"process": "stopping"})
        if not self._opened:
            return Report((), {"process": "starting"})
        faults: dict[str, str] = {}
        async with asyncio.TaskGroup() as group:
            for name, check in self._checks.items():
                group.create_task(_run(name, check, faults))
        passed = tuple(name for name in self._checks if name not in faults)
        return Report(passed, faults)


@asynccontextmanager
async def serve_health(health: Health, port: int, host: str = "") -> AsyncGenerator[int]:
    """Answer `/healthz` and `/readyz` over HTTP while the context is open; yields the port (`port` 0 picks one).

    Raises:
        Unavailable: the port is taken.
    """

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError, TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            async with asyncio.timeout(_REQUEST_SECONDS + CHECK_SECONDS):
                head = await reader.readuntil(b"\r\n\r\n")
                writer.write(await _response(health, head))
                await writer.drain()
        writer.close()
        with suppress(OSError):
            await writer.wait_closed()

    try:
        server = await asyncio.start_server(answer, host or None, port, limit=_REQUEST_BYTES)
    except OSError as error:
        raise Unavailable(f"port {port} for health answers is taken: set LOCKTENDER_HEALTH_PORT") from error
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()


async def _run(name: str, check: Check, faults: dict[str, str]) -> None:
    try:
        async with asyncio.timeout(CHECK_SECONDS):
            await check()
    except TimeoutError:
        faults[name] = f"no answer within {CHECK_SECONDS:g} s"
    except LocktenderError as error:
        faults[name] = str(error)
    except Exception as error:  # noqa: BLE001 - a failed check is an answer, and its text may hold an address
        faults[name] = type(error).__name__


async def _response(health: Health, head: bytes) -> bytes:
    method, _, rest = head.partition(b" ")
    path = rest.partition(b" ")[0].partition(b"?")[0]
    if method != b"GET":
        return _http(405, {"error": "only GET"})
    if path == b"/healthz":
        return _http(200, {"alive": True})
    if path == b"/readyz":
        report = await health.report()
        return _http(200 if report.ready else 503, report.document())
    return _http(404, {"error": "ask for /healthz or /readyz"})


_PHRASES = {200: "OK", 404: "Not Found", 405: "Method Not Allowed", 503: "Service Unavailable"}


def _http(status: int, document: dict[str, object]) -> bytes:
    body = json.dumps(document).encode() + b"\n"
    head = (
        f"HTTP/1.1 {status} {_PHRASES[status]}\r\ncontent-type: application/json\r\n"
        f"content-length: {len(body)}\r\ncache-control: no-store\r\nconnection: close\r\n\r\n"
    )
    return head.encode() + body
