import asyncio
from datetime import UTC, datetime
from uuid import UUID

import pytest

from locktender.api.events.asyncapi import asyncapi_document
from locktender.api.events.feeds import Feed
from locktender.api.flights import Flights
from locktender.contracts.deployments.events import KINDS, TaskEvent
from locktender.contracts.deployments.flow import TaskPhase, TaskStatus
from locktender.contracts.kernel.ids import new_id
from locktender.contracts.stacks import events as stacks

AT = datetime(2030, 1, 1, tzinfo=UTC)


def event(row_id: UUID, project: str = "shop") -> TaskEvent:
    return TaskEvent(
        id=row_id, workspace="acme", project=project, phase=TaskPhase.QUEUED, status=TaskStatus.QUEUED, epoch=0,
        revision=1, at=AT,
    )  # fmt: skip


async def test_a_feed_hears_once_of_a_row_that_changed_often() -> None:
    feed, row = Feed(lambda each: each.project == "shop"), new_id()
    for _ in range(3):
        feed.offer(event(row), tombstone=False)
    feed.offer(event(new_id(), "other"), tombstone=False)
    assert (await feed.news()).changed == {row}
    feed.ring()
    assert not await feed.news()


async def test_a_tombstone_ends_a_row_for_good() -> None:
    feed, row = Feed(lambda _: True), new_id()
    feed.offer(event(row), tombstone=False)
    feed.offer(event(row), tombstone=True)
    feed.offer(event(row), tombstone=False)
    news = await feed.news()
    assert (news.changed, news.gone) == (frozenset(), {row})


async def test_a_reader_that_is_too_slow_looks_at_everything() -> None:
    feed = Feed(lambda _: True)
    for _ in range(1000):
        feed.offer(event(new_id()), tombstone=False)
    news = await feed.news()
    assert news.everything
    assert news.overflowed
    assert len(news.changed) < 250


async def test_a_closed_feed_does_not_wait() -> None:
    feed = Feed(lambda _: True)
    feed.close()
    async with asyncio.timeout(1):
        await feed.news()
    assert feed.closed


async def test_many_readers_cost_one_read_and_one_trailing_read() -> None:
    reads = 0
    gate = asyncio.Event()

    async def read(_: str) -> int:
        nonlocal reads
        reads += 1
        await gate.wait()
        return reads

    async with asyncio.TaskGroup() as group:
        flights = Flights(group, read)
        first = group.create_task(flights.read("a"))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        late = [group.create_task(flights.read("a")) for _ in range(10)]
        await asyncio.sleep(0)
        gate.set()
        await asyncio.wait([first, *late])
    assert first.result() == 1
    assert {task.result() for task in late} == {2}


async def test_a_failed_read_fails_its_readers_and_nobody_else() -> None:
    async def read(key: str) -> str:
        if key == "bad":
            raise KeyError(key)
        return key

    async with asyncio.TaskGroup() as group:
        flights = Flights(group, read)
        with pytest.raises(KeyError):
            await flights.read("bad")
        assert await flights.read("good") == "good"


def test_the_bus_is_described_whole() -> None:
    document = asyncapi_document()
    assert document == asyncapi_document()
    for kind in KINDS:
        assert f'"lt.evt.{{workspace}}.deployments.{{aggregate}}.{kind}"' in document
    for kind in (*stacks.KINDS, *stacks.STACK_KINDS):
        assert f'"lt.evt.{{workspace}}.stacks.{{aggregate}}.{kind}"' in document
    for subject in ("lt.cmd.run.{group}", "lt.log.{run}"):
        assert f'"{subject}"' in document
    for subject in ("lt.cmd.deployment.direct", "lt.cmd.cleanup.retention", "lt.poke.outbox", "lt.cancel.{task}",
                    "lt.custody.{instance}", "lt.ops.api.status"):  # fmt: skip
        assert f'"{subject}"' in document
