import asyncio
import gc
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

import pytest

from locktender.testkit.clock import FakeClock
from locktender.testkit.proxy import TcpProxy
from locktender.testkit.scratch import scratch_dir


async def test_a_sleeper_wakes_when_its_moment_comes_and_not_before() -> None:
    clock = FakeClock()
    async with asyncio.TaskGroup() as tasks:
        sleeper = tasks.create_task(clock.sleep(10))
        await clock.until_asleep()
        await clock.elapse(9.9)
        assert not sleeper.done()
        await clock.elapse(0.1)
        assert sleeper.done()
    assert clock.monotonic() == pytest.approx(10)


async def test_a_loop_that_sleeps_again_and_again_turns_once_a_period() -> None:
    clock = FakeClock()
    turns: list[float] = []

    async def loop() -> None:
        while True:
            await clock.sleep(1)
            turns.append(clock.monotonic())

    async with asyncio.TaskGroup() as tasks:
        running = tasks.create_task(loop())
        await clock.elapse(3.5)
        running.cancel()
    assert turns == [1, 2, 3]


async def test_one_jump_wakes_sleepers_in_the_order_of_their_moments() -> None:
    clock = FakeClock()
    woken: list[int] = []

    async def sleeper(seconds: int) -> None:
        await clock.sleep(seconds)
        woken.append(seconds)

    async with asyncio.TaskGroup() as tasks:
        for seconds in (3, 1, 2):
            tasks.create_task(sleeper(seconds))
        await clock.until_asleep(3)
        clock.advance(5)
    assert woken == [1, 2, 3]


async def test_a_cancelled_sleeper_is_forgotten() -> None:
    clock = FakeClock()
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.01):
            await clock.sleep(1)
    assert clock.asleep == 0
    await clock.elapse(2)


def test_a_clock_does_not_go_back() -> None:
    with pytest.raises(ValueError, match="go back"):
        FakeClock().advance(-1)


@asynccontextmanager
async def echo_behind_a_proxy() -> AsyncIterator[TcpProxy]:
    async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError):
            while line := await reader.readline():
                writer.write(line)
        writer.close()

    async with (
        await asyncio.start_server(echo, "127.0.0.1", 0) as server,
        TcpProxy("127.0.0.1", server.sockets[0].getsockname()[1]) as proxy,
    ):
        yield proxy


@asynccontextmanager
async def dialled(proxy: TcpProxy) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    reader, writer = await asyncio.open_connection("127.0.0.1", proxy.port)
    try:
        yield reader, writer
    finally:
        writer.transport.abort()
        await asyncio.sleep(0)


async def said(line: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, within: float = 5) -> bytes:
    writer.write(line)
    async with asyncio.timeout(within):
        return await reader.readline()


async def test_a_healthy_proxy_forwards_both_ways() -> None:
    async with echo_behind_a_proxy() as proxy, dialled(proxy) as line:
        assert await said(b"one\n", *line) == b"one\n"


@pytest.mark.parametrize("rounds", range(6))
async def test_a_cut_leaves_nothing_behind_of_a_connection_that_comes_at_the_same_moment(rounds: int) -> None:
    async with echo_behind_a_proxy() as proxy:
        with socket.create_connection(("127.0.0.1", proxy.port), timeout=5) as late:
            for _ in range(rounds):
                await asyncio.sleep(0)
            await proxy.cut()
            assert proxy.connections == 0
            with suppress(ConnectionError):
                assert await asyncio.to_thread(late.recv, 1) == b""
        # A transport that was forgotten says so when it is collected.
        gc.collect()


async def test_a_cut_ends_connections_and_refuses_new_ones_until_healed() -> None:
    async with echo_behind_a_proxy() as proxy, dialled(proxy) as line:
        await said(b"one\n", *line)
        await proxy.cut()
        async with asyncio.timeout(5):
            with suppress(ConnectionError):
                assert await line[0].read() == b""
        with pytest.raises(ConnectionRefusedError):
            await asyncio.open_connection("127.0.0.1", proxy.port)
        port = proxy.port
        await proxy.heal()
        assert proxy.port == port
        async with dialled(proxy) as fresh:
            assert await said(b"two\n", *fresh) == b"two\n"


async def test_a_reset_is_felt_by_the_client_and_new_connections_are_served() -> None:
    async with echo_behind_a_proxy() as proxy, dialled(proxy) as line:
        await said(b"one\n", *line)
        await proxy.reset()
        async with asyncio.timeout(5):
            with pytest.raises(ConnectionResetError):
                await line[0].read()
        async with dialled(proxy) as fresh:
            assert await said(b"two\n", *fresh) == b"two\n"


async def test_a_black_hole_keeps_connections_and_lets_nothing_pass_until_healed() -> None:
    async with echo_behind_a_proxy() as proxy, dialled(proxy) as line:
        await said(b"one\n", *line)
        proxy.blackhole()
        with pytest.raises(TimeoutError):
            await said(b"two\n", *line, within=0.1)
        await proxy.heal()
        async with asyncio.timeout(5):
            assert await line[0].readline() == b"two\n"


async def test_latency_delays_each_chunk() -> None:
    async with echo_behind_a_proxy() as proxy, dialled(proxy) as line:
        proxy.latency(0.1)
        loop = asyncio.get_running_loop()
        started = loop.time()
        await said(b"one\n", *line)
        assert loop.time() - started >= 0.2


def test_a_scratch_folder_can_be_entered_by_others_and_is_gone_afterwards() -> None:
    with scratch_dir() as folder:
        assert folder.stat().st_mode & 0o777 == 0o711
        (folder / "deep").mkdir()
    assert not folder.exists()
