import asyncio
import time
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest
from nats.aio.msg import Msg

from locktender.contracts.kernel import subjects
from locktender.contracts.kernel.errors import Unavailable
from locktender.runtime.bus import Bus, NoResponders
from locktender.runtime.connect import connect_bus
from locktender.runtime.loop import Waker
from locktender.testkit.nats_rig import NatsRig, eventually, nats_rig


@pytest.fixture
async def rig() -> AsyncGenerator[NatsRig]:
    async with nats_rig() as running:
        yield running


@pytest.fixture
async def bus(rig: NatsRig) -> AsyncGenerator[Bus]:
    connected = await rig.bus("api")
    yield connected
    await connected.close()


async def test_a_poke_wakes_the_service_it_names(rig: NatsRig, bus: Bus) -> None:
    other, waker, stranger = await rig.bus("outbox"), Waker(), Waker()
    await other.on_poke("outbox", waker)
    await other.on_poke("reaper", stranger)
    bus.poke("outbox")
    async with asyncio.timeout(5):
        await waker.wait()
    assert not stranger._event.is_set()
    await other.close()


async def test_a_burst_of_pokes_becomes_a_few_messages_and_its_last_one_is_not_lost(bus: Bus) -> None:
    heard: list[float] = []

    async def count(_: Msg) -> None:
        heard.append(time.monotonic())

    await bus.subscribe(subjects.poke("outbox"), count)
    for _ in range(500):
        bus.poke("outbox")
        await asyncio.sleep(0)
    last = time.monotonic()
    await eventually(lambda: heard and heard[-1] >= last)
    assert len(heard) < 100


async def test_a_reconnect_wakes_who_may_have_missed_a_poke(rig: NatsRig, bus: Bus) -> None:
    waker = Waker()
    await bus.on_poke("outbox", waker)
    await rig.kill()
    await eventually(lambda: not bus.connected)
    with pytest.raises(Unavailable):
        await bus.check()
    await rig.start()
    async with asyncio.timeout(10):
        await waker.wait()
    await bus.check()


async def test_a_request_is_answered_and_one_without_a_listener_says_so_at_once(bus: Bus) -> None:
    async def echo(message: Msg) -> None:
        await bus.publish(message.reply, message.data[::-1])

    await bus.subscribe("mirror", echo)
    assert await bus.request("mirror", b"abc", 5) == b"cba"
    with pytest.raises(NoResponders):
        await bus.request("nobody", b"", 5)


async def test_a_request_without_an_answer_ends_at_its_deadline(bus: Bus) -> None:
    async def silent(_: Msg) -> None:
        await asyncio.sleep(0)

    await bus.subscribe("silent", silent)
    with pytest.raises(Unavailable, match=r"within 0\.1 s"):
        await bus.request("silent", b"", 0.1)


async def test_connecting_to_nobody_fails_soon_and_says_what_to_do(rig: NatsRig) -> None:
    await rig.kill()
    rig.nats_url = rig.nats_url.replace("nats://", "nats://joe:hunter22@")
    with pytest.raises(Unavailable, match="set LOCKTENDER_NATS_URL") as failure:
        await connect_bus(rig, "api", first_connect_seconds=0.5)
    assert "hunter22" not in str(failure.value)


@pytest.mark.parametrize("seed", ["", "garbage", "SUAGARBAGE", None])
async def test_a_seed_file_that_cannot_be_used_is_named_as_such(rig: NatsRig, tmp_path: Path, seed: str | None) -> None:
    rig.nats_seed_file = tmp_path / "seed"
    if seed is not None:
        rig.nats_seed_file.write_text(seed)
    with pytest.raises(Unavailable, match="LOCKTENDER_NATS_SEED_FILE"):
        await connect_bus(rig, "api", first_connect_seconds=2)


async def test_closing_while_the_server_is_down_raises_nothing_and_is_no_failure(rig: NatsRig) -> None:
    told: list[bool] = []
    bus = await rig.bus("api", on_closed=lambda: told.append(True))
    await rig.kill()
    await eventually(lambda: not bus.connected)
    await bus.close()
    assert not bus.dead
    assert told == []


async def test_a_connection_that_closes_by_itself_is_dead_and_says_so(rig: NatsRig) -> None:
    told: list[bool] = []
    bus = await rig.bus("api", on_closed=lambda: told.append(True))
    await bus.client.close()
    assert bus.dead
    assert told == [True]
    with pytest.raises(Unavailable):
        await bus.publish("any", b"")
    await bus.close()
