import asyncio
import json
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from uuid import UUID

import pytest

from locktender.contracts.kernel.errors import Unavailable
from locktender.contracts.kernel.ids import new_id
from locktender.runtime import pull
from locktender.runtime.bus import Bus
from locktender.runtime.clock import SystemClock
from locktender.runtime.hint import Hint
from locktender.runtime.slots import Slots
from locktender.runtime.stop import Stop
from locktender.runtime.watchdog import Verdict, Watchdog
from locktender.runtime.worker import JetStreamWorker, Run
from locktender.testkit.nats_rig import NatsRig, eventually, make_work_queue, nats_rig

STREAM, SUBJECT, CONSUMER = "WORK", "work.do", "workers"


class Runner:
    """Claims whatever it is asked for and runs it until told."""

    def __init__(self) -> None:
        self.claimed: list[UUID] = []
        self.batches: list[int] = []
        self.done: list[UUID] = []
        self.hold = asyncio.Event()
        self.hold.set()
        self.failing = 0

    async def claim(self, hints: Sequence[Hint]) -> Sequence[Run]:
        if self.failing:
            self.failing -= 1
            raise Unavailable("the database is away")
        self.batches.append(len(hints))
        self.claimed += [hint.id for hint in hints]
        return [self._run(hint.id) for hint in hints]

    def _run(self, row_id: UUID) -> Run:
        async def run() -> None:
            await self.hold.wait()
            self.done.append(row_id)

        return run


@pytest.fixture
async def rig() -> AsyncGenerator[NatsRig]:
    async with nats_rig() as running:
        yield running


@pytest.fixture
async def bus(rig: NatsRig) -> AsyncGenerator[Bus]:
    connected = await rig.bus("runner")
    await make_work_queue(connected.client, STREAM, SUBJECT, CONSUMER)
    yield connected
    await connected.close()


@asynccontextmanager
async def working(
    bus: Bus, runner: Runner, *, slots: int = 4, drain: float = 5.0
) -> AsyncGenerator[tuple[JetStreamWorker, Slots]]:
    stop, free = Stop(), Slots(slots)
    worker = JetStreamWorker(
        bus, STREAM, CONSUMER, slots=free, claim=runner.claim, clock=SystemClock(), stop=stop, drain_seconds=drain
    )
    async with asyncio.TaskGroup() as group:
        group.create_task(worker.run())
        try:
            yield worker, free
        finally:
            stop.request()


async def hint(bus: Bus, count: int = 1) -> list[UUID]:
    ids = [new_id() for _ in range(count)]
    for row_id in ids:
        await bus.jetstream.publish(SUBJECT, json.dumps({"id": str(row_id)}).encode())
    return ids


async def unanswered(bus: Bus) -> int:
    info = await bus.jetstream.consumer_info(STREAM, CONSUMER)
    return (info.num_ack_pending or 0) + (info.num_pending or 0)


async def test_every_hint_is_claimed_acknowledged_and_run_in_batches(bus: Bus) -> None:
    runner = Runner()
    ids = await hint(bus, 40)
    async with working(bus, runner, slots=16) as (_, slots):
        await eventually(lambda: sorted(runner.done) == sorted(ids))
        await eventually(lambda: unanswered_is_zero(bus))
        assert max(runner.batches) > 1
        assert max(runner.batches) <= slots.size


async def unanswered_is_zero(bus: Bus) -> bool:
    return await unanswered(bus) == 0


async def test_no_more_is_fetched_than_there_are_free_slots(bus: Bus) -> None:
    runner = Runner()
    runner.hold.clear()
    await hint(bus, 5)
    async with working(bus, runner, slots=2) as (_, slots):
        await eventually(lambda: len(runner.claimed) == 2 and slots.free == 0)
        info = await bus.jetstream.consumer_info(STREAM, CONSUMER)
        assert info.num_pending == 3
        runner.hold.set()
        await eventually(lambda: len(runner.done) == 5)


async def test_hints_go_back_when_the_claim_fails_and_come_again(bus: Bus) -> None:
    runner = Runner()
    runner.failing = 1
    ids = await hint(bus, 3)
    async with working(bus, runner) as (_, slots):
        await eventually(lambda: sorted(runner.done) == sorted(ids))
        await eventually(lambda: unanswered_is_zero(bus))
    assert slots.free == slots.size


async def test_a_hint_that_cannot_be_read_is_dropped_and_the_next_one_is_served(bus: Bus) -> None:
    runner = Runner()
    for body in (b"", b"[]", b"{", b'{"id": 7}', b'{"id": null}', b"[" * 5000):
        await bus.jetstream.publish(SUBJECT, body)
    ids = await hint(bus)
    async with working(bus, runner) as (_, slots):
        await eventually(lambda: runner.done == ids)
        await eventually(lambda: unanswered_is_zero(bus))
    assert slots.free == slots.size


async def test_a_run_that_raises_frees_its_slot_and_ends_nobody_else(bus: Bus) -> None:
    done: list[UUID] = []

    async def claim(hints: Sequence[Hint]) -> Sequence[Run]:
        async def run() -> None:
            if not done:
                done.append(hints[0].id)
                raise ValueError("unexpected")
            done.append(hints[0].id)

        return [run]

    runner = Runner()
    runner.claim = claim
    await hint(bus, 2)
    async with working(bus, runner, slots=1):
        await eventually(lambda: len(done) == 2)


async def test_a_stop_gives_back_what_was_not_begun_and_lets_runs_end(bus: Bus) -> None:
    runner = Runner()
    blocked = asyncio.Event()
    inner = runner.claim

    async def claim(hints: Sequence[Hint]) -> Sequence[Run]:
        runs = await inner(hints)
        blocked.set()
        await runner.hold.wait()
        return runs

    runner.claim = claim
    runner.hold.clear()
    stop = Stop()
    slots = Slots(4)
    worker = JetStreamWorker(
        bus, STREAM, CONSUMER, slots=slots, claim=runner.claim, clock=SystemClock(), stop=stop, drain_seconds=5
    )
    async with asyncio.TaskGroup() as group:
        group.create_task(worker.run())
        await hint(bus, 1)
        await blocked.wait()
        waiting = await hint(bus, 3)
        await eventually(lambda: pending_is_zero(bus))
        stop.request()
        runner.hold.set()
    assert len(runner.done) == 1
    # Given back at once, not after the 30 s of the consumer's ack wait.
    messages = await (await bus.jetstream.pull_subscribe_bind(CONSUMER, STREAM)).fetch(3, timeout=3)
    assert {json.loads(message.data)["id"] for message in messages} == {str(row_id) for row_id in waiting}


async def pending_is_zero(bus: Bus) -> bool:
    return (await bus.jetstream.consumer_info(STREAM, CONSUMER)).num_pending == 0


async def test_a_run_that_outlives_the_drain_time_is_cut_off(bus: Bus) -> None:
    runner = Runner()
    runner.hold.clear()
    await hint(bus)
    async with working(bus, runner, drain=0.05) as (_, slots):
        await eventually(lambda: len(runner.claimed) == 1)
    assert runner.done == []
    assert slots.free == slots.size


async def test_work_goes_on_after_the_stream_was_deleted_and_made_anew(bus: Bus) -> None:
    runner = Runner()
    async with working(bus, runner) as (worker, _):
        first = await hint(bus)
        await eventually(lambda: runner.done == first)
        await bus.jetstream.delete_stream(STREAM)
        await eventually(lambda: is_missing(worker))
        await make_work_queue(bus.client, STREAM, SUBJECT, CONSUMER)
        second = await hint(bus)
        await eventually(lambda: runner.done == first + second, seconds=8)


async def test_work_goes_on_after_the_server_was_killed_and_started_again(rig: NatsRig, bus: Bus) -> None:
    runner = Runner()
    async with working(bus, runner):
        first = await hint(bus)
        await eventually(lambda: runner.done == first)
        await rig.kill()
        await eventually(lambda: not bus.connected)
        await rig.start()
        await eventually(lambda: bus.connected)
        second = await hint(bus, 3)
        # Faster than the five seconds that the request from before the crash would have lasted.
        await eventually(lambda: sorted(runner.done) == sorted(first + second), seconds=4)


async def is_missing(worker: JetStreamWorker) -> bool:
    try:
        await worker.check()
    except Unavailable:
        return True
    return False


async def test_a_worker_that_starts_before_its_stream_exists_waits_for_it(rig: NatsRig) -> None:
    bus, runner = await rig.bus("runner"), Runner()
    async with working(bus, runner) as (worker, _):
        await eventually(lambda: is_missing(worker))
        await make_work_queue(bus.client, STREAM, SUBJECT, CONSUMER)
        ids = await hint(bus)
        await eventually(lambda: runner.done == ids, seconds=8)
    await bus.close()


async def test_the_watchdog_asks_for_a_new_subscription_and_then_for_the_end(bus: Bus) -> None:
    watchdog = Watchdog(bus, STREAM, CONSUMER, SystemClock(), seconds=0)
    assert await watchdog.look() is Verdict.FINE
    await hint(bus)
    assert await watchdog.look() is Verdict.RESUBSCRIBE
    assert await watchdog.look() is Verdict.GIVE_UP
    watchdog.saw_messages()
    assert await watchdog.look() is Verdict.RESUBSCRIBE


async def test_a_subscription_that_went_deaf_is_replaced(bus: Bus, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pull, "EXPIRES_SECONDS", 0.3)
    monkeypatch.setattr(pull, "_SLACK_SECONDS", 0.1)
    runner, stop = Runner(), Stop()
    worker = JetStreamWorker(
        bus,
        STREAM,
        CONSUMER,
        slots=Slots(4),
        claim=runner.claim,
        clock=SystemClock(),
        stop=stop,
        watch_seconds=0.5,
    )
    async with asyncio.TaskGroup() as group:
        group.create_task(worker.run())
        first = await hint(bus)
        await eventually(lambda: runner.done == first)
        deaf = worker._pull._subscription
        assert deaf is not None
        await deaf.unsubscribe()
        second = await hint(bus)
        await eventually(lambda: runner.done == first + second)
        stop.request()


async def test_a_connection_closed_for_good_ends_the_worker_after_its_runs(
    bus: Bus, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pull, "EXPIRES_SECONDS", 0.3)
    monkeypatch.setattr(pull, "_SLACK_SECONDS", 0.1)
    runner, stop = Runner(), Stop()
    runner.hold.clear()
    worker = JetStreamWorker(bus, STREAM, CONSUMER, slots=Slots(4), claim=runner.claim, clock=SystemClock(), stop=stop)
    ids = await hint(bus)

    async def sever() -> None:
        await eventually(lambda: runner.claimed == ids)
        await bus.client.close()
        await stop.wait()
        runner.hold.set()

    async with asyncio.TaskGroup() as group:
        group.create_task(sever())
        with pytest.raises(Unavailable, match="closed for good"):
            await worker.run()
    assert runner.done == ids


async def test_hints_that_waited_through_an_outage_never_exceed_the_slots(rig: NatsRig, bus: Bus) -> None:
    runner = Runner()
    async with working(bus, runner, slots=2) as (_, slots):
        await rig.kill()
        await eventually(lambda: not bus.connected)
        await rig.start()
        await eventually(lambda: bus.connected)
        runner.hold.clear()
        ids = await hint(bus, 6)
        await eventually(lambda: len(runner.claimed) == 2 and slots.free == 0)
        runner.hold.set()
        await eventually(lambda: sorted(runner.done) == sorted(ids))
    assert max(runner.batches) <= 2
