"""The loop under which a minute takes as long as the work of that minute."""

import asyncio
import time
from typing import Any

import pytest

from locktender.testkit.virtual_time import VIRTUAL_TIME, NothingToWaitFor, VirtualClock, VirtualLoop, bounded


@pytest.fixture(scope="module")
def anyio_backend() -> tuple[str, dict[str, Any]]:
    return VIRTUAL_TIME


async def test_an_hour_of_sleep_takes_no_time() -> None:
    clock, began = VirtualClock(), time.monotonic()
    before, stamp = clock.monotonic(), clock.now()
    await clock.sleep(3600)
    assert clock.monotonic() - before == pytest.approx(3600)
    assert (clock.now() - stamp).total_seconds() == pytest.approx(3600)
    assert time.monotonic() - began < 5


async def test_sleepers_wake_in_the_order_of_their_moments() -> None:
    woken: list[int] = []

    async def sleep(seconds: int) -> None:
        await asyncio.sleep(seconds)
        woken.append(seconds)

    async with asyncio.TaskGroup() as group:
        for seconds in (30, 1, 600, 2):
            group.create_task(sleep(seconds))
    assert woken == [1, 2, 30, 600]


async def test_timeouts_live_in_the_same_time() -> None:
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(900):
            await asyncio.sleep(901)
    async with asyncio.timeout(900):
        await asyncio.sleep(899)


async def test_time_stands_still_while_bytes_are_under_way() -> None:
    clock = VirtualClock()

    async def shout(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while line := await reader.readline():
            writer.write(line.upper())
        writer.close()
        await writer.wait_closed()

    server = await asyncio.start_server(shout, "127.0.0.1", 0)
    reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
    before = clock.monotonic()
    for _ in range(100):
        writer.write(b"hello\n")
        assert await reader.readline() == b"HELLO\n"
    assert clock.monotonic() == before
    writer.close()
    await writer.wait_closed()
    server.close()
    await server.wait_closed()


async def test_time_stands_still_while_a_thread_works() -> None:
    clock = VirtualClock()
    async with asyncio.TaskGroup() as group:
        patience = group.create_task(asyncio.sleep(0.001))
        before = clock.monotonic()
        await asyncio.to_thread(time.sleep, 0.2)
        assert clock.monotonic() == before
        await patience


async def for_ever(pause: float, *, real_seconds: float) -> None:
    """A block without an end, in steps of `pause` seconds."""
    async with bounded(real_seconds=real_seconds, jumps=50):
        while True:  # noqa: ASYNC110 - nothing is waited for: this is the loop that has to be ended
            await asyncio.sleep(pause)


async def test_a_block_that_only_waits_is_ended_by_its_bound() -> None:
    with pytest.raises(AssertionError, match="jumps"):
        await for_ever(1, real_seconds=60)
    await asyncio.sleep(1)


async def test_a_block_that_never_waits_is_ended_by_its_bound() -> None:
    with pytest.raises(AssertionError, match="not done within"):
        await for_ever(0, real_seconds=0.1)


async def test_a_block_in_its_bounds_is_left_alone() -> None:
    async with bounded(real_seconds=60, jumps=50):
        await asyncio.sleep(10)
    for _ in range(100):
        await asyncio.sleep(1)


def test_waiting_for_what_cannot_come_is_an_error_and_no_hang(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("locktender.testkit.virtual_time._STUCK_SECONDS", 0.05)
    with pytest.raises(NothingToWaitFor), asyncio.Runner(loop_factory=VirtualLoop) as runner:
        runner.run(asyncio.Event().wait())
