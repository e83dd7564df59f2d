"""The smallest HTTP/1.1 client that measures: keep-alive, one request at a time, requests as ready-made bytes."""

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any, cast
from urllib.parse import urlsplit

_HEAD_END = b"\r\n\r\n"
_LENGTH = b"content-length:"


class Refused(Exception):
    """The server answered something else than what the benchmark asked for."""


class Connection(asyncio.Protocol):
    """One connection."""

    def __init__(self) -> None:
        self._transport: asyncio.WriteTransport | None = None
        self._received = b""
        self._end = 0
        self._answer: asyncio.Future[tuple[int, bytes]] | None = None

    async def ask(self, request: bytes, *, seconds: float = 30.0) -> tuple[int, bytes]:
        """Status and body.

        Raises:
            ConnectionError: the server hung up.
            TimeoutError: no whole answer within `seconds`.
        """
        if self._transport is None:
            raise ConnectionResetError("the server closed the connection")
        answer = self._answer = asyncio.get_running_loop().create_future()
        self._received, self._end = b"", 0
        self._transport.write(request)
        async with asyncio.timeout(seconds):
            return await answer

    def close(self) -> None:
        """Hang up."""
        if self._transport is not None:
            self._transport.close()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Told by the event loop."""
        self._transport = cast("asyncio.WriteTransport", transport)

    def data_received(self, data: bytes) -> None:
        """Told by the event loop."""
        self._received = self._received + data if self._received else data
        if not self._end:
            self._end = _whole(self._received)
        if self._end and len(self._received) >= self._end and self._answer is not None and not self._answer.done():
            body = self._received[self._received.index(_HEAD_END) + 4 : self._end]
            self._answer.set_result((int(self._received[9:12]), body))

    def connection_lost(self, exc: Exception | None) -> None:
        """Told by the event loop."""
        self._transport = None
        if self._answer is not None and not self._answer.done():
            self._answer.set_exception(exc or ConnectionResetError("the server closed the connection"))


def _whole(received: bytes) -> int:
    """Where the answer ends; 0 while its head is incomplete."""
    head_end = received.find(_HEAD_END)
    if head_end < 0:
        return 0
    head = received[:head_end].lower()
    start = head.find(_LENGTH)
    if start < 0:
        raise Refused("an answer without a length")
    stop = head.find(b"\r", start)
    return head_end + 4 + int(head[start + len(_LENGTH) : stop if stop >= 0 else None])


def post(url: str, token: str, path: str, body: dict[str, Any] | None = None) -> bytes:
    """A whole request."""
    payload = b"" if body is None else json.dumps(body).encode()
    head = (
        f"POST {path} HTTP/1.1\r\nHost: {urlsplit(url).netloc}\r\nAuthorization: Bearer {token}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(payload)}\r\n\r\n"
    )
    return head.encode() + payload


@asynccontextmanager
async def connections(url: str, count: int) -> AsyncGenerator[list[Connection]]:
    """Open connections, closed afterwards."""
    address = urlsplit(url)
    loop, opened = asyncio.get_running_loop(), list[Connection]()
    try:
        for _ in range(count):
            _, made = await loop.create_connection(Connection, address.hostname or "", address.port or 80)
            opened.append(made)
        yield opened
    finally:
        for each in opened:
            each.close()
