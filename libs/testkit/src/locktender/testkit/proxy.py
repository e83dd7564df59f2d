"""A TCP proxy that a test breaks on purpose."""

import asyncio
import socket
import struct
from contextlib import suppress
from types import TracebackType
from typing import Self

_CHUNK = 64 * 1024
_HOST = "127.0.0.1"
_ROUNDS_TO_SERVE = 4
"""From a connection that asyncio has accepted to the first step of the task that serves it."""


class TcpProxy:
    """Forwards a loopback port to `host:port`, until told otherwise. Use it as an asynchronous context manager.

    - `cut()`: connections end and new ones are refused, as when the server is down.
    - `reset()`: connections end with a reset, new ones are served.
    - `blackhole()`: connections stay and new ones are accepted, but no byte passes, as when a route is lost. Bytes
      sent meanwhile are kept back, not lost: TCP would send them again after `heal()`.
    - `latency(seconds)`: each chunk is held for that long, in each direction.
    - `heal()`: serve again, on the same port, without a delay.
    """

    def __init__(self, host: str, port: int) -> None:
        self._upstream = (host, port)
        self._server: asyncio.Server | None = None
        self._port = 0
        self._delay = 0.0
        self._open = asyncio.Event()
        self._open.set()
        self._writers: set[asyncio.StreamWriter] = set()
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def port(self) -> int:
        """Where it listens, on 127.0.0.1; the same for its whole life."""
        return self._port

    @property
    def connections(self) -> int:
        """How many clients are connected at this moment."""
        return len(self._tasks)

    async def __aenter__(self) -> Self:
        await self._listen()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.cut()

    async def cut(self) -> None:
        """End all connections and refuse new ones."""
        if self._server is not None:
            server, self._server = self._server, None
            # What was accepted a moment ago reaches `_serve` only some rounds of the loop later, and would outlive us.
            for listening in server.sockets:
                asyncio.get_running_loop().remove_reader(listening.fileno())
            for _ in range(_ROUNDS_TO_SERVE):
                await asyncio.sleep(0)
            server.close()
        for task in tuple(self._tasks):
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=5)

    async def reset(self) -> None:
        """End all connections with a reset; new ones are served."""
        for writer in self._writers:
            sock: socket.socket = writer.get_extra_info("socket")
            # Closing with nothing to linger for sends a reset instead of an orderly end.
            with suppress(OSError):
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            writer.transport.abort()
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=5)

    def blackhole(self) -> None:
        """Let no byte pass any more, in either direction."""
        self._open.clear()

    def latency(self, seconds: float) -> None:
        """Hold each chunk for `seconds` from now on."""
        self._delay = seconds

    async def heal(self) -> None:
        """Undo whatever was done."""
        self._delay = 0.0
        self._open.set()
        if self._server is None:
            await self._listen()

    async def _listen(self) -> None:
        self._server = await asyncio.start_server(self._serve, _HOST, self._port)
        self._port = self._server.sockets[0].getsockname()[1]

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task: asyncio.Task[None] | None = asyncio.current_task()
        if task is None:  # pragma: no cover - the server always calls from a task
            return
        self._tasks.add(task)
        self._writers.add(writer)
        try:
            await self._join(reader, writer)
        except asyncio.CancelledError:
            # Cancelled by `cut` alone. The server that made the task would report the cancellation as a fault.
            pass
        finally:
            self._writers.discard(writer)
            self._tasks.discard(task)
            writer.transport.abort()

    async def _join(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            far_reader, far_writer = await asyncio.open_connection(*self._upstream)
        except OSError:
            return
        self._writers.add(far_writer)
        try:
            async with asyncio.TaskGroup() as both:
                both.create_task(self._pump(reader, far_writer))
                both.create_task(self._pump(far_reader, writer))
        finally:
            self._writers.discard(far_writer)
            far_writer.transport.abort()

    async def _pump(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError):
            while chunk := await reader.read(_CHUNK):
                await asyncio.sleep(self._delay)
                await self._open.wait()
                writer.write(chunk)
                await writer.drain()
            if writer.can_write_eof():
                writer.write_eof()
