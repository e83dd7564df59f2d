import asyncio
import json
from collections.abc import AsyncGenerator, Generator, Sequence
from dataclasses import dataclass
from pathlib import Path
from uuid import UUID

import pytest
from nats.js.api import AckPolicy, ConsumerConfig, StreamConfig

from locktender.contracts.kernel import subjects
from locktender.contracts.kernel.ids import new_id
from locktender.runtime.bus import Bus
from locktender.runtime.clock import SystemClock
from locktender.runtime.connect import connect_bus
from locktender.runtime.custody import Custodian
from locktender.runtime.custody_client import CustodyClient
from locktender.runtime.hint import Hint
from locktender.runtime.loop import Waker
from locktender.runtime.slots import Slots
from locktender.runtime.stop import Stop
from locktender.runtime.worker import JetStreamWorker, Run
from locktender.testkit import servers
from locktender.testkit.nats_rig import eventually


@dataclass(frozen=True)
class Identity:
    nats_url: str
    nats_seed_file: Path | None


@pytest.fixture(scope="module")
def server() -> Generator[servers.NatsServer]:
    with servers.nats_server() as running:
        yield running


async def connect(server: servers.NatsServer, name: str) -> Bus:
    return await connect_bus(Identity(server.url, server.seeds.get(name)), name)


@pytest.fixture
async def outbox(server: servers.NatsServer) -> AsyncGenerator[Bus]:
    bus = await connect(server, "outbox")
    await bus.jetstream.add_stream(StreamConfig(name=subjects.COMMANDS_STREAM, subjects=[subjects.COMMANDS]))
    await bus.jetstream.add_consumer(
        subjects.COMMANDS_STREAM,
        ConsumerConfig(
            durable_name="runner-direct",
            filter_subject=subjects.deployment_command("direct"),
            ack_policy=AckPolicy.EXPLICIT,
        ),
    )
    yield bus
    await bus.close()
    # Not even the identity that makes the streams may delete one.
    admin = await connect(server, "admin")
    await admin.jetstream.delete_stream(subjects.COMMANDS_STREAM)
    await admin.close()


async def test_a_runner_needs_no_more_than_its_own_key_to_work(server: servers.NatsServer, outbox: Bus) -> None:
    runner, stop, done = await connect(server, "runner"), Stop(), []

    async def claim(hints: Sequence[Hint]) -> Sequence[Run]:
        async def run() -> None:
            done.extend(hint.id for hint in hints)

        return [run]

    worker = JetStreamWorker(
        runner, subjects.COMMANDS_STREAM, "runner-direct", slots=Slots(4), claim=claim, clock=SystemClock(), stop=stop
    )
    row_id = new_id()
    async with asyncio.TaskGroup() as group:
        group.create_task(worker.run())
        await outbox.jetstream.publish(subjects.deployment_command("direct"), json.dumps({"id": str(row_id)}).encode())
        await eventually(lambda: done == [row_id])
        stop.request()
    info = await outbox.jetstream.consumer_info(subjects.COMMANDS_STREAM, "runner-direct")
    assert (info.num_ack_pending, info.num_pending) == (0, 0)
    await runner.close()


async def test_credentials_and_pokes_pass_between_services_with_their_own_keys(server: servers.NatsServer) -> None:
    api, runner, outbox = [await connect(server, name) for name in ("api", "runner", "outbox")]
    waker, task = Waker(), new_id()

    async def verify(_task: UUID, _epoch: int) -> str | None:
        return "acme"

    custodian = Custodian("api-1", clock=SystemClock(), verify=verify)
    async with custodian.serving(api):
        custodian.hold(task, b"kubeconfig", ttl=60)
        assert await CustodyClient(runner).fetch("api-1", task, 1, "acme", 5) == b"kubeconfig"
    await outbox.on_poke("outbox", waker)
    api.poke("outbox")
    async with asyncio.timeout(5):
        await waker.wait()
    for bus in (api, runner, outbox):
        await bus.close()
