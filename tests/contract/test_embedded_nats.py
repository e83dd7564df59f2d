import asyncio
import os
import signal
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import nats
import pytest
from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.errors import NoRespondersError
from nats.errors import TimeoutError as NatsTimeout
from nats.js.api import ConsumerConfig, StreamConfig

from locktender.contracts.kernel.permissions import inbox_prefix
from locktender.contracts.kernel.subjects import CONSUMERS, STREAMS
from locktender.embedded.child import eventually
from locktender.embedded.errors import EmbeddedError
from locktender.embedded.nats import NatsAddress, NatsSettings, NatsSupervisor
from locktender.testkit.embedded_rig import runs, supervised_elsewhere
from locktender.testkit.scratch import scratch_dir

SETTINGS = NatsSettings(sync="2m", admin=True)


@pytest.fixture
def state() -> Iterator[Path]:
    with scratch_dir() as folder:
        yield folder / "state"


@pytest.fixture
async def server(state: Path) -> AsyncIterator[NatsAddress]:
    async with NatsSupervisor(state, SETTINGS) as supervisor:
        async with connected(supervisor.address, "outbox") as outbox:
            for stream in STREAMS:
                await outbox.jetstream().add_stream(StreamConfig(name=stream.name, subjects=list(stream.subjects)))
            for each in CONSUMERS:
                config = ConsumerConfig(durable_name=each.name, filter_subject=each.filter_subject)
                await outbox.jetstream().add_consumer(each.stream, config)
        yield supervisor.address


@asynccontextmanager
async def connected(address: NatsAddress, who: str, refusals: list[str] | None = None) -> AsyncIterator[Client]:
    async def heard(error: Exception) -> None:
        if refusals is not None:
            refusals.append(str(error))

    client = await nats.connect(
        address.url,
        nkeys_seed=str(address.seeds[who]),
        inbox_prefix=inbox_prefix(who).encode(),  # type: ignore[arg-type]
        error_cb=heard,
        allow_reconnect=False,
    )
    try:
        yield client
    finally:
        await client.close()


def answering(body: bytes) -> Callable[[Msg], Awaitable[None]]:
    async def answer(message: Msg) -> None:
        await message.respond(body)

    return answer


async def subscribed(client: Client) -> None:
    # The ping of a flush overtakes commands that the client still holds back; by the second one they are sent.
    await client.flush()
    await client.flush()


async def stored(address: NatsAddress, stream: str) -> int:
    async with connected(address, "admin") as admin:
        return (await admin.jetstream().stream_info(stream)).state.messages


async def test_an_acknowledged_message_survives_kill_9_on_the_same_address(state: Path) -> None:
    async with NatsSupervisor(state, SETTINGS) as supervisor:
        before = supervisor.address
        async with connected(before, "outbox") as outbox:
            await outbox.jetstream().add_stream(StreamConfig(name="LT_EVENTS", subjects=["lt.evt.>"]))
            await outbox.jetstream().publish("lt.evt.x", b"kept")
        os.kill(supervisor.pid, signal.SIGKILL)
        assert await supervisor.wait() == -signal.SIGKILL
        assert await supervisor.start() == before
        assert await stored(supervisor.address, "LT_EVENTS") == 1
    async with NatsSupervisor(state, SETTINGS) as again:
        assert await stored(again.address, "LT_EVENTS") == 1


async def test_the_server_of_a_killed_supervisor_is_replaced_and_its_store_is_kept(state: Path) -> None:
    with supervised_elsewhere("nats", state, ends_with_parent=False) as other:
        other.kill_supervisor()
    assert runs("nats-server", other.pid)
    async with NatsSupervisor(state, SETTINGS) as supervisor:
        assert not runs("nats-server", other.pid)
        assert supervisor.address.url == other.address


async def test_a_port_that_another_program_took_is_exchanged(state: Path) -> None:
    async with NatsSupervisor(state, SETTINGS) as first:
        port = int(first.address.url.rsplit(":", 1)[1])
    with socket.create_server(("127.0.0.1", port)):
        async with NatsSupervisor(state, SETTINGS) as second:
            assert second.address.url != first.address.url


async def test_two_supervisors_never_share_a_folder(state: Path) -> None:
    async with NatsSupervisor(state, SETTINGS):
        with pytest.raises(EmbeddedError, match="another Locktender"):
            await NatsSupervisor(state, SETTINGS).start()


async def test_seeds_are_private_and_in_no_other_file(server: NatsAddress, state: Path) -> None:
    assert {path.stat().st_mode & 0o777 for path in server.seeds.values()} == {0o600}
    assert holders([path.read_bytes().strip() for path in server.seeds.values()], state) == set(server.seeds.values())


def holders(words: list[bytes], folder: Path) -> set[Path]:
    files = [path for path in folder.rglob("*") if path.is_file()]
    return {path for path in files if any(word in path.read_bytes() for word in words)}


async def test_a_client_without_a_key_is_refused(server: NatsAddress) -> None:
    host, port = server.url.removeprefix("nats://").split(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    try:
        writer.write(b'CONNECT {"verbose":false}\r\nPING\r\n')
        async with asyncio.timeout(5):
            said = await reader.read()
    finally:
        writer.close()
        await writer.wait_closed()
    assert b"Authorization Violation" in said
    assert b"PONG" not in said


async def test_a_runner_cannot_publish_an_event(server: NatsAddress) -> None:
    refusals: list[str] = []
    async with connected(server, "runner", refusals) as runner:
        await runner.publish("lt.evt.x", b"forged")
        assert await eventually(lambda: bool(refusals), within=5)
    assert "permissions violation" in refusals[0].lower()
    assert await stored(server, "LT_EVENTS") == 0


async def test_operators_look_but_cannot_purge(server: NatsAddress) -> None:
    async with connected(server, "outbox") as outbox:
        await outbox.jetstream().publish("lt.evt.x", b"kept")
    async with connected(server, "ops") as ops:
        assert (await ops.jetstream().stream_info("LT_EVENTS")).state.messages == 1
        with pytest.raises((NatsTimeout, NoRespondersError)):
            await ops.jetstream(timeout=0.5).purge_stream("LT_EVENTS")
    assert await stored(server, "LT_EVENTS") == 1


async def test_a_runner_takes_a_command_from_its_own_consumer_and_acknowledges_it(server: NatsAddress) -> None:
    async with connected(server, "outbox") as outbox, connected(server, "runner") as runner:
        await outbox.jetstream().publish("lt.cmd.deployment.direct", b"{}")
        pull = await runner.jetstream().pull_subscribe_bind("runner-direct", stream="LT_COMMANDS")
        (message,) = await pull.fetch(1, timeout=5)
        await message.ack_sync(timeout=5)
        assert (await pull.consumer_info()).num_ack_pending == 0


async def test_a_runner_cannot_take_the_work_of_the_cleanup(server: NatsAddress) -> None:
    async with connected(server, "outbox") as outbox, connected(server, "runner") as runner:
        await outbox.jetstream().publish("lt.cmd.cleanup.retention", b"{}")
        pull = await runner.jetstream().pull_subscribe_bind("cleanup-retention", stream="LT_COMMANDS")
        with pytest.raises(NatsTimeout):
            await pull.fetch(1, timeout=0.5)


async def test_a_runner_asks_a_custodian_and_nobody_else_hears_the_answer(server: NatsAddress) -> None:
    refusals: list[str] = []
    async with (
        connected(server, "api") as api,
        connected(server, "runner") as runner,
        connected(server, "ops", refusals) as ops,
    ):
        await ops.subscribe(f"{inbox_prefix('runner')}.>")
        assert await eventually(lambda: bool(refusals), within=5)
        await api.subscribe("lt.custody.one", cb=answering(b"sealed"))
        await subscribed(api)
        assert (await runner.request("lt.custody.one", b"key", timeout=5)).data == b"sealed"
    assert "permissions violation" in refusals[0].lower()


async def test_operators_reach_the_endpoints_of_a_service_and_services_do_not(server: NatsAddress) -> None:
    async with connected(server, "reaper") as reaper, connected(server, "ops") as ops, connected(server, "api") as api:
        await reaper.subscribe("lt.ops.reaper.sweep", cb=answering(b"{}"))
        await reaper.subscribe("$SRV.PING", cb=answering(b"pong"))
        await subscribed(reaper)
        assert (await ops.request("lt.ops.reaper.sweep", timeout=5)).data == b"{}"
        assert (await ops.request("$SRV.PING", timeout=5)).data == b"pong"
        with pytest.raises((NatsTimeout, asyncio.TimeoutError)):
            await api.request("lt.ops.reaper.sweep", timeout=0.5)
