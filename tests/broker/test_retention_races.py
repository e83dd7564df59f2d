"""Removal of old deployments while others look at them, act on them, or remove them as well."""

import asyncio
import json
from collections import Counter
from collections.abc import AsyncGenerator, Iterable
from contextlib import aclosing, suppress
from dataclasses import replace
from datetime import timedelta
from typing import Any
from urllib.parse import urlsplit
from uuid import UUID

import httpx
import pytest

from locktender.contracts.deployments.flow import DEPLOYMENT_TASK, TaskStatus
from locktender.contracts.deployments.policy import Deadlines
from locktender.contracts.kernel.lease import Lease
from locktender.reaper.settings import ReaperSettings
from locktender.storage.cleanup.writes import CleanupWrites
from locktender.storage.deployments.retention import Retention
from locktender.testkit import rows
from locktender.testkit.api import RunningApi, ServerEvent, relay_events, running_api
from locktender.testkit.database import TestDatabase
from locktender.testkit.nats_rig import NatsRig, eventually, nats_rig
from locktender.testkit.proxy import TcpProxy
from locktender.testkit.servers import NatsServer

pytestmark = pytest.mark.takes(seconds=12)

DAYS_30 = 30 * 86_400.0
PROJECT = "/v1/workspaces/acme/projects/shop/deployment-tasks/stream"


@pytest.fixture
async def proxy(db: TestDatabase) -> AsyncGenerator[TcpProxy]:
    where = urlsplit(db.dsn)
    async with TcpProxy(where.hostname or "", where.port or 5432) as proxy:
        yield proxy


@pytest.fixture
async def nats() -> AsyncGenerator[NatsRig]:
    async with nats_rig() as rig:
        yield rig


@pytest.fixture
async def api(db: TestDatabase, nats: NatsRig, proxy: TcpProxy) -> AsyncGenerator[RunningApi]:
    """An API whose questions to the database can be made slow, while everybody else's are not."""
    where = urlsplit(db.dsn)
    dsn = where._replace(netloc=f"{where.username}:{where.password}@127.0.0.1:{proxy.port}").geturl()
    async with running_api(replace(db, dsn=dsn), NatsServer("embedded", nats.nats_url, {})) as running:
        yield running


class Reader:
    """Reads a stream in the background."""

    def __init__(self, api: RunningApi, path: str) -> None:
        self._stream = api.stream(path)
        self.events: list[ServerEvent] = []

    async def read(self) -> None:
        async with aclosing(self._stream):
            async for event in self._stream:
                if event.name not in {"comment", "retry"}:
                    self.events.append(event)

    @property
    def names(self) -> list[str]:
        return [event.name for event in self.events]

    def removed(self) -> set[str]:
        return {json.loads(event.data)["id"] for event in self.events if event.name == "remove"}

    def shows(self) -> list[str]:
        """What is on the screen of whoever does as the stream says; nothing may appear that was removed before."""
        present: set[str] = set()
        gone: set[str] = set()
        for event in self.events:
            said = json.loads(event.data)
            match event.name:
                case "snapshot":
                    present = {each["id"] for each in said["projections"]}
                case "upsert":
                    present.add(said["projection"]["id"])
                case "remove":
                    present.discard(said["id"])
                    gone.add(said["id"])
                case _:
                    continue
            assert not present & gone, f"{event.name} brought back what was removed"
        return sorted(present)


async def jobs_for(db: TestDatabase, tasks: Iterable[UUID]) -> list[UUID]:
    """A retention job for each task, as it stands."""
    revision = "select revision from locktender.deployment_task where id = $1"
    return [
        (await rows.job(db, subject_id=task, generation=await db.admin.fetchval(revision, task))).row_id
        for task in tasks
    ]


async def claimed(db: TestDatabase, jobs: Iterable[UUID], ttl: float = 60) -> list[Lease]:
    return [job.lease for job in await CleanupWrites(db.database).claim(jobs, rows.OWNER, ttl)]


async def purged(db: TestDatabase, *tasks: UUID) -> Counter[str]:
    """Remove tasks as the cleanup service does; how each removal ended."""
    leases = await claimed(db, await jobs_for(db, tasks))
    return Counter(each.outcome for each in await Retention(db.database).remove(leases))


async def repeat_event(api: RunningApi, task: UUID, kind: str = "completed", revision: int = 4) -> None:
    """An event that the relay sends once more, as it does after a crash."""
    body = {
        "id": str(task), "workspace": "acme", "project": "shop", "phase": "completed", "status": "completed",
        "epoch": 1, "revision": revision, "at": "2030-01-01T00:00:00Z",
    }  # fmt: skip
    headers = {"lt-revision": str(revision), "content-type": "application/json"}
    await api.bus.publish(f"lt.evt.acme.deployments.{task}.{kind}", json.dumps(body).encode(), headers=headers)


# -- Streams that read while the removal commits


@pytest.mark.parametrize("slow", [0.0, 0.08], ids=["quick reads", "reads that began before and end after"])
async def test_a_project_stream_that_reads_while_tasks_are_removed_ends_without_them(
    api: RunningApi, db: TestDatabase, proxy: TcpProxy, slow: float
) -> None:
    tasks = [await rows.completed(db) for _ in range(12)]
    kept = [await rows.completed(db) for _ in range(3)]
    await relay_events(db, api.bus)
    readers = [Reader(api, PROJECT) for _ in range(3)]
    async with asyncio.TaskGroup() as group:
        reading = [group.create_task(reader.read()) for reader in readers]
        for reader in readers:
            await eventually(lambda reader=reader: "snapshot" in reader.names)
        proxy.latency(slow)
        for task in tasks:
            # Begins a read whose answer may be of the time before the removal, and arrive after it was told.
            await repeat_event(api, task)
            await asyncio.sleep(slow / 2)
            assert await purged(db, task) == {"removed": 1}
            await relay_events(db, api.bus)
            await repeat_event(api, task)
        proxy.latency(0)
        for reader in readers:
            await eventually(lambda reader=reader: reader.removed() >= {str(task) for task in tasks})
        for task in tasks:
            await repeat_event(api, task)
        # When this one is shown, everything before it has been looked at.
        late = await rows.created(db)
        await relay_events(db, api.bus)
        for reader in readers:
            await eventually(lambda reader=reader: str(late) in reader.shows())
        for task in reading:
            task.cancel()
    for reader in readers:
        assert reader.shows() == sorted(map(str, [*kept, late]))


async def test_a_project_stream_that_begins_while_tasks_are_removed_never_shows_them_for_good(
    api: RunningApi, db: TestDatabase, proxy: TcpProxy
) -> None:
    tasks = [await rows.completed(db) for _ in range(10)]
    kept = await rows.completed(db)
    await relay_events(db, api.bus)
    proxy.latency(0.03)
    readers: list[Reader] = []
    async with asyncio.TaskGroup() as group:
        reading: list[asyncio.Task[None]] = []
        for task in tasks:
            readers.append(Reader(api, PROJECT))
            reading.append(group.create_task(readers[-1].read()))
            await asyncio.sleep(0.04)
            await purged(db, task)
            await relay_events(db, api.bus)
        proxy.latency(0)
        for reader in readers:
            await eventually(lambda reader=reader: "snapshot" in reader.names and reader.shows() == [str(kept)])
        for task in reading:
            task.cancel()


async def test_the_stream_of_a_task_that_is_removed_under_it_ends_and_says_nothing_more(
    api: RunningApi, db: TestDatabase, proxy: TcpProxy
) -> None:
    leases = [await rows.applying(db) for _ in range(12)]
    await relay_events(db, api.bus)
    readers = [Reader(api, api.path(f"/{lease.row_id}/timeline/stream")) for lease in leases]
    async with asyncio.TaskGroup() as group:
        for reader in readers:
            group.create_task(reader.read())
        for reader in readers:
            await eventually(lambda reader=reader: "snapshot" in reader.names)
        proxy.latency(0.05)
        for number, lease in enumerate(leases):
            await repeat_event(api, lease.row_id, "applying", 3)
            await asyncio.sleep(0.01 * (number % 5))
            await db.writes.complete(lease, rows.told(), timeline=rows.TIMELINE)
            assert await purged(db, lease.row_id) == {"removed": 1}
            await relay_events(db, api.bus)
            await repeat_event(api, lease.row_id)
        proxy.latency(0)
        # Every stream ends by itself: the group would wait for one that does not.
    for reader in readers:
        last = reader.names[-1]
        assert last in {"removed", "end"}
        assert reader.names.count(last) == 1
        assert "removed" not in reader.names[:-1]
    assert "removed" in {reader.names[-1] for reader in readers}


async def test_opening_the_stream_of_a_task_that_is_being_removed_ends_it_or_finds_nothing(
    api: RunningApi, db: TestDatabase
) -> None:
    tasks = [await rows.completed(db) for _ in range(30)]
    await relay_events(db, api.bus)
    seen: Counter[tuple[str, ...]] = Counter()

    async def open_one(task: UUID) -> None:
        reader = Reader(api, api.path(f"/{task}/timeline/stream"))
        # Refused before it began: then the task is not found.
        with suppress(AssertionError):
            await reader.read()
        seen[tuple(reader.names)] += 1

    async with asyncio.TaskGroup() as group:
        for task in tasks:
            group.create_task(open_one(task))
            await purged(db, task)
    assert set(seen) <= {(), ("snapshot", "end"), ("removed",)}, seen


async def test_whoever_reads_or_cancels_a_task_that_is_being_removed_sees_it_whole_or_not_at_all(
    api: RunningApi, db: TestDatabase
) -> None:
    tasks = [await rows.completed(db) for _ in range(60)]
    answers: Counter[tuple[str, int]] = Counter()

    async def ask(method: str, task: UUID, rest: str = "") -> None:
        answer = await api.http.request(method, api.path(f"/{task}{rest}"))
        answers[method + rest, answer.status_code] += 1
        assert_whole(method + rest, answer)

    async def race(task: UUID) -> None:
        async with room, asyncio.TaskGroup() as group:
            group.create_task(ask("GET", task))
            group.create_task(ask("GET", task, "/events"))
            group.create_task(ask("POST", task, "/cancel"))
            group.create_task(purged_of(task))

    jobs = dict(zip(tasks, await jobs_for(db, tasks), strict=True))

    async def purged_of(task: UUID) -> None:
        await Retention(db.database).remove(await claimed(db, [jobs[task]]))

    room = asyncio.Semaphore(10)
    async with asyncio.TaskGroup() as group:
        for task in tasks:
            group.create_task(race(task))
    assert {code for _, code in answers} <= {200, 404, 409}
    for task in tasks:
        assert (await api.http.get(api.path(f"/{task}"))).status_code == 404


def assert_whole(asked: str, answer: httpx.Response) -> None:
    said: dict[str, Any] = answer.json()
    match asked, answer.status_code:
        case _, 404:
            assert said["type"] == "urn:locktender:problem:not-found"
        case "GET", 200:
            assert (said["task"]["status"], len(said["events"])) == ("completed", 4)
        case "GET/events", 200:
            assert [event["revision"] for event in said["events"]] == [1, 2, 3, 4]
        case _, 409:
            assert (said["snapshot"]["task"]["status"], len(said["snapshot"]["events"])) == ("completed", 4)
        case _:
            raise AssertionError(f"{asked}: {answer.status_code} {answer.text}")


# -- What is never removed


def test_finished_deployments_are_kept_for_thirty_days_unless_an_operator_says_otherwise() -> None:
    assert Deadlines().retention == DAYS_30
    assert ReaperSettings(database_url="postgresql://x", nats_url="nats://x").deadlines.retention == DAYS_30


async def test_a_task_is_due_when_its_thirty_days_are_over_and_not_before(db: TestDatabase) -> None:
    ended = await rows.completed(db)
    at = await db.admin.fetchval("select completed_at from locktender.deployment_task where id = $1", ended)
    await db.at(at + timedelta(seconds=DAYS_30, milliseconds=-1))
    assert await Retention(db.database).schedule(100, DAYS_30) == 0
    await db.at(at + timedelta(seconds=DAYS_30))
    assert await Retention(db.database).schedule(100, DAYS_30) == 1
    # One job a task, however often the sweep comes by.
    assert await Retention(db.database).schedule(100, DAYS_30) == 0


@pytest.mark.parametrize("status", sorted(set(TaskStatus) - DEPLOYMENT_TASK.terminal))
async def test_a_task_that_is_not_over_is_never_removed_however_old_it_is(db: TestDatabase, status: TaskStatus) -> None:
    long_ago = await db.now() - timedelta(days=400)
    old = {"created_at": long_ago, "updated_at": long_ago}
    alive = (await rows.task(db, status=status, epoch=1, ttl=DAYS_30, **old)).row_id
    over = (await rows.task(db, status=TaskStatus.CANCELLED, epoch=1, completed_at=long_ago, **old)).row_id
    assert await Retention(db.database).schedule(100, DAYS_30) == 1
    due = await db.admin.fetch("select subject_id from locktender.cleanup_job")
    assert [row["subject_id"] for row in due] == [over]
    # Even a job that somebody made for it by mistake, or made before it came alive, removes nothing.
    assert await purged(db, alive) == {"not-proven": 1}
    assert await exists(db, alive)


async def exists(db: TestDatabase, task: UUID) -> bool:
    return await db.admin.fetchval("select exists (select from locktender.deployment_task where id = $1)", task)


# -- Several who remove


async def test_a_cleanup_whose_lease_ran_out_removes_nothing_and_the_next_one_removes_once(db: TestDatabase) -> None:
    tasks = [await rows.completed(db) for _ in range(5)]
    jobs = await jobs_for(db, tasks)
    stale = await claimed(db, jobs, ttl=0)
    assert set(await CleanupWrites(db.database).expire(100)) == set(jobs)
    fresh = await claimed(db, jobs)
    retention = Retention(db.database)
    assert await retention.remove(stale) == []
    assert all([await exists(db, task) for task in tasks])
    assert Counter(each.outcome for each in await retention.remove(fresh)) == {"removed": 5}
    assert await retention.remove(fresh) == []
    assert await removals(db) == Counter(dict.fromkeys(map(str, tasks), 1))


async def test_removals_that_are_repeated_at_the_same_time_are_told_once(db: TestDatabase) -> None:
    tasks = [await rows.completed(db) for _ in range(60)]
    leases = await claimed(db, await jobs_for(db, tasks))
    outcomes: Counter[str] = Counter()

    async def remove(some: list[Lease]) -> None:
        outcomes.update(each.outcome for each in await Retention(db.database).remove(some))

    async with asyncio.TaskGroup() as group:
        for size in (4, 7, 60):
            for start in range(0, len(leases), size):
                group.create_task(remove(leases[start : start + size]))
    assert outcomes == {"removed": 60}
    assert await removals(db) == Counter(dict.fromkeys(map(str, tasks), 1))


async def removals(db: TestDatabase) -> Counter[str]:
    """How often the removal of each task was told."""
    told = await db.admin.fetch("select aggregate from locktender.outbox where type like '%removed' or tombstone")
    return Counter(str(row["aggregate"]) for row in told)
