"""What operators do through the `nats` CLI: endpoints under the NATS micro protocol."""

import asyncio
import json
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from secrets import token_hex

import structlog
from nats.errors import Error
from nats.micro.request import Request
from nats.micro.service import EndpointStats, ServiceConfig
from nats.micro.service import Service as MicroService

from locktender.contracts.kernel.errors import (
    Conflict,
    LeaseLost,
    LocktenderError,
    NotFound,
    Rejected,
    Unavailable,
    WrongState,
)
from locktender.runtime.bus import Bus

_log = structlog.stdlib.get_logger(__name__)

Operation = Callable[[bytes], Awaitable[Mapping[str, object]]]
"""Takes the body of a request, gives the document of the reply. May raise any `LocktenderError`."""

_CONCURRENT = 16
_DRAIN_SECONDS = 5.0


@dataclass(slots=True)
class _Endpoint:
    name: str
    subject: str
    operation: Operation
    notes: dict[str, str]
    requests: int = 0
    errors: int = 0
    last_error: str = ""


class OpsEndpoints:
    """The operator endpoints of one service: `nats micro ls|info|stats|ping`, `nats req SUBJECT BODY`.

    Requests run side by side, up to 16 of them. A caller sees the text of an error raised on purpose; of any other it
    sees a reference into the log and nothing else. Add every endpoint before `serving`.
    """

    def __init__(self, bus: Bus, name: str, *, version: str, description: str) -> None:
        self._bus = bus
        self._config = ServiceConfig(
            name=f"locktender-{name}", version=version, description=description, stats_handler=self._data
        )
        self._endpoints: dict[str, _Endpoint] = {}
        self._room = asyncio.Semaphore(_CONCURRENT)

    def add(
        self, name: str, subject: str, handler: Operation, description: str, *, request: str = "", response: str = ""
    ) -> None:
        """Answer `subject`. The notes say what goes in and comes out; `nats micro info` shows them."""
        notes = {"description": description, "request": request, "response": response}
        self._endpoints[name] = _Endpoint(name, subject, handler, {key: note for key, note in notes.items() if note})

    def stats(self) -> dict[str, dict[str, object]]:
        """Requests, errors and the last error of each endpoint."""
        return {
            name: {"requests": endpoint.requests, "errors": endpoint.errors, "last_error": endpoint.last_error}
            for name, endpoint in self._endpoints.items()
        }

    @asynccontextmanager
    async def serving(self) -> AsyncGenerator[None]:
        """Answer while the context is open; at its end, requests under way have 5 s to finish."""
        service = MicroService(self._bus.client, self._config)
        async with asyncio.TaskGroup() as group:
            under_way: set[asyncio.Task[None]] = set()
            await service.start()
            for endpoint in self._endpoints.values():
                await service.add_endpoint(
                    name=endpoint.name,
                    subject=endpoint.subject,
                    metadata=endpoint.notes,
                    handler=self._handler(endpoint, group, under_way),
                )
            try:
                yield
            finally:
                with suppress(Error, OSError, TimeoutError):
                    async with asyncio.timeout(_DRAIN_SECONDS):
                        await service.stop()
                if under_way:
                    await asyncio.wait(under_way, timeout=_DRAIN_SECONDS)
                for task in under_way:
                    task.cancel()

    def _handler(
        self, endpoint: _Endpoint, group: asyncio.TaskGroup, under_way: set[asyncio.Task[None]]
    ) -> Callable[[Request], Awaitable[None]]:
        async def accept(request: Request) -> None:
            # The protocol's own loop handles one request after the other, so it only hands over.
            await self._room.acquire()
            task = group.create_task(self._serve(endpoint, request))
            under_way.add(task)
            task.add_done_callback(under_way.discard)
            task.add_done_callback(lambda _: self._room.release())

        return accept

    async def _serve(self, endpoint: _Endpoint, request: Request) -> None:
        endpoint.requests += 1
        try:
            document = await endpoint.operation(request.data)
        except LocktenderError as error:
            await self._refuse(endpoint, request, _code(error), str(error))
        except Exception:  # noqa: BLE001 - the protocol would show the caller its representation
            reference = token_hex(4)
            _log.exception("an operator request failed", endpoint=endpoint.name, reference=reference)
            await self._refuse(endpoint, request, "500", f"internal error; the log has it under {reference}")
        else:
            _log.info("operator request answered", endpoint=endpoint.name)
            await _send(request.respond(json.dumps(document, default=str).encode()))

    async def _refuse(self, endpoint: _Endpoint, request: Request, code: str, text: str) -> None:
        endpoint.errors += 1
        endpoint.last_error = text
        _log.info("operator request refused", endpoint=endpoint.name, code=code)
        body = json.dumps({"error": text, "code": code}).encode()
        await _send(request.respond_error(code, text, body))

    def _data(self, stats: EndpointStats) -> Mapping[str, object]:
        return self.stats()[stats.name]


async def _send(reply: Awaitable[None]) -> None:
    # Without a reply subject the caller did not want to know; without a connection it cannot.
    with suppress(Error, OSError, ValueError):
        await reply


def _code(error: LocktenderError) -> str:
    match error:
        case Rejected():
            return "400"
        case NotFound():
            return "404"
        case WrongState() | LeaseLost() | Conflict():
            return "409"
        case Unavailable():
            return "503"
        case _:
            return "422"
