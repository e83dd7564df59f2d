"""Bodies and answers that are bytes: how large, how slow, and how many at once."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from litestar.types import Receive, Scope, Send
from pydantic import BaseModel, ConfigDict, Field

from locktender.api.http.gated import HttpRequest
from locktender.api.http.problems import ProblemError
from locktender.contracts.kernel.errors import Unavailable
from locktender.contracts.kernel.problems import Problem

_MIB = 1024 * 1024
BYTES = "application/octet-stream"


class RunLimits(BaseModel):
    """How much runners may send.

    Attributes:
        artifact_bytes: the largest plan file, analysis or summary.
        state_bytes: the largest state.
        archive_bytes: the largest archive of a source.
        log_bytes: how much of the log of a run is kept. What comes later is taken and forgotten, and the log says so.
        body_seconds: until a body has arrived.
        large_at_once: bodies of that size in memory at the same time; others wait for `body_seconds`.
    """

    model_config = ConfigDict(defer_build=True, frozen=True)

    artifact_bytes: int = Field(default=64 * _MIB, gt=0)
    state_bytes: int = Field(default=64 * _MIB, gt=0)
    archive_bytes: int = Field(default=64 * _MIB, gt=0)
    log_bytes: int = Field(default=64 * _MIB, gt=0)
    body_seconds: float = Field(default=120.0, gt=0)
    large_at_once: int = Field(default=8, gt=0)

    @property
    def largest(self) -> int:
        """The largest of all that is kept."""
        return max(self.artifact_bytes, self.state_bytes, self.archive_bytes)


class Room:
    """Room for large bodies: what is encrypted is held as a whole, so there is a bound on how many there are."""

    def __init__(self, limits: RunLimits) -> None:
        self._seconds = limits.body_seconds
        self._places = asyncio.Semaphore(limits.large_at_once)

    @asynccontextmanager
    async def place(self) -> AsyncGenerator[None]:
        """A place for as long as the block lasts.

        Raises:
            Unavailable: none became free in time.
        """
        try:
            async with asyncio.timeout(self._seconds):
                await self._places.acquire()
        except TimeoutError:
            raise Unavailable("too many large transfers are under way") from None
        try:
            yield
        finally:
            self._places.release()

    async def read(self, request: HttpRequest) -> bytes:
        """The body. Its size is bounded by the route.

        Raises:
            ProblemError: it did not arrive in time.
        """
        try:
            async with asyncio.timeout(self._seconds):
                return await request.body()
        except TimeoutError:
            detail = f"the body did not arrive within {self._seconds:g} s"
            raise ProblemError(Problem.INVALID_REQUEST, detail, headers={"Connection": "close"}) from None


class BytesAnswer:
    """A complete answer of any media type. It is an ASGI application."""

    def __init__(
        self, body: bytes, *, media_type: str = BYTES, status: int = 200, headers: dict[str, str] | None = None
    ) -> None:
        self._body = body
        self._status = status
        given = {"Content-Type": media_type, "Content-Length": str(len(body)), "Cache-Control": "no-store"}
        given |= {"X-Content-Type-Options": "nosniff", **(headers or {})}
        self._headers = [(name.lower().encode(), value.encode()) for name, value in given.items()]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send it."""
        del scope, receive
        await send({"type": "http.response.start", "status": self._status, "headers": self._headers})
        await send({"type": "http.response.body", "body": self._body, "more_body": False})


class NoContent:
    """204. It is an ASGI application."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send it."""
        del scope, receive
        await send({"type": "http.response.start", "status": 204, "headers": [(b"cache-control", b"no-store")]})
        await send({"type": "http.response.body", "body": b"", "more_body": False})
