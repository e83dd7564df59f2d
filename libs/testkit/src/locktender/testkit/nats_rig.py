"""A bare NATS server that a test kills and starts again, and waiting for what becomes true in the end."""

import asyncio
import inspect
import os
import signal
import socket
import subprocess
import sys
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

from nats.aio.client import Client
from nats.js import JetStreamContext
from nats.js.api import AckPolicy, ConsumerConfig, RetentionPolicy, StreamConfig

from locktender.runtime.bus import Bus
from locktender.runtime.connect import connect_bus
from locktender.testkit.scratch import scratch_dir


class NatsRig:
    """One server without users, always on the same port and folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._port = _free_port()
        self._process: subprocess.Popen[bytes] | None = None
        self.nats_url = f"nats://127.0.0.1:{self._port}"
        self.nats_seed_file: Path | None = None

    async def start(self) -> None:
        """Start the server, and return when it takes connections."""
        binary = Path(sys.executable).parent / "nats-server"
        arguments = [str(binary), "-a", "127.0.0.1", "-p", str(self._port), "-js", "-sd", str(self._folder)]
        self._process = subprocess.Popen(arguments, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)  # noqa: ASYNC220 - it returns at once
        async with asyncio.timeout(15):
            while not await self._answers():  # noqa: ASYNC110 - another process does not tell
                await asyncio.sleep(0.02)

    async def kill(self) -> None:
        """Kill the server as a crash would."""
        await self._end(signal.SIGKILL)

    async def stop(self) -> None:
        """Stop the server in good order."""
        await self._end(signal.SIGTERM)

    async def bus(self, name: str = "test", **options: Any) -> Bus:
        """A connection of its own; the caller closes it."""
        return await connect_bus(self, name, **options)

    async def _end(self, number: signal.Signals) -> None:
        if self._process is not None:
            with suppress(ProcessLookupError):
                os.kill(self._process.pid, number)
            await asyncio.to_thread(self._process.wait, 10)
            self._process = None

    async def _answers(self) -> bool:
        try:
            reader, writer = await asyncio.open_connection("127.0.0.1", self._port)
        except OSError:
            return False
        try:
            return (await reader.readline()).startswith(b"INFO")
        finally:
            writer.close()
            with suppress(OSError):
                await writer.wait_closed()


@asynccontextmanager
async def nats_rig() -> AsyncGenerator[NatsRig]:
    """A running server for as long as the block lasts."""
    with scratch_dir() as folder:
        rig = NatsRig(folder)
        await rig.start()
        try:
            yield rig
        finally:
            await rig.kill()


async def make_work_queue(client: Client, stream: str, subject: str, consumer: str, **settings: Any) -> None:
    """A work queue stream with one durable pull consumer."""
    jetstream = JetStreamContext(client)
    await jetstream.add_stream(  # pyright: ignore[reportUnknownMemberType]  # its other parameters
        StreamConfig(name=stream, subjects=[subject], retention=RetentionPolicy.WORK_QUEUE)
    )
    options: dict[str, Any] = {"ack_wait": 30.0, "max_ack_pending": 1000} | settings
    await jetstream.add_consumer(  # pyright: ignore[reportUnknownMemberType]  # its other parameters
        stream, ConsumerConfig(durable_name=consumer, ack_policy=AckPolicy.EXPLICIT, **options)
    )


async def eventually(condition: Callable[[], Any], seconds: float = 15.0) -> None:
    """Return as soon as `condition` holds.

    Raises:
        TimeoutError: it did not hold within `seconds`.
    """
    async with asyncio.timeout(seconds):
        while True:
            answer = condition()
            if await answer if inspect.isawaitable(answer) else answer:
                return
            await asyncio.sleep(0.01)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
