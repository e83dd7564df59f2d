"""Random lives of one lineage, asked for over HTTP: whatever order people, runs, crashes and retention act in, each
answer is the one that a small model gives, and a chain of redeploys goes on under the name that it once took.
"""

import json
from collections import Counter
from collections.abc import AsyncGenerator, Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import httpx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from locktender.contracts.deployments.flow import DEPLOYMENT_TASK, REDEPLOYABLE, TaskStatus
from locktender.contracts.deployments.policy import Deadlines
from locktender.contracts.kernel.lease import Lease
from locktender.integrations.templates.catalogue_settings import CatalogueSettings
from locktender.storage.deployments.writes import DeploymentWrites
from locktender.storage.verify import Tolerance, violations
from locktender.testkit import rows
from locktender.testkit.api import RunningApi, kubeconfig, running_api
from locktender.testkit.cage import found_in_rows
from locktender.testkit.canaries import Cage, Canary, token
from locktender.testkit.database import TestDatabase
from locktender.testkit.endings import purge
from locktender.testkit.parked import TEMPLATE_FORM
from locktender.testkit.servers import NatsServer
from locktender.testkit.templates import catalogue

pytestmark = pytest.mark.takes(seconds=20)

PASSWORD = token("history")
GIVEN = {"title": "Our wiki", "admin_password": PASSWORD}
_CALM = Tolerance(window=1e9, publish=1e9, sweep=1e9, deadlines=Deadlines())
_LIVE = DEPLOYMENT_TASK.leased


@pytest.fixture(scope="module")
async def api(
    module_db: TestDatabase, nats_server: NatsServer, tmp_path_factory: pytest.TempPathFactory
) -> AsyncGenerator[RunningApi]:
    folder: Path = catalogue(tmp_path_factory.mktemp("catalogue"))
    async with running_api(module_db, nats_server, catalogue=CatalogueSettings(folder=folder)) as running:
        yield running


@dataclass
class _Task:
    """What has to be true of a task."""

    id: UUID
    predecessor: UUID | None = None
    instance: str | None = None
    status: TaskStatus = TaskStatus.QUEUED
    cancelling: bool = False
    submitted: bool = False
    gone: bool = False
    lease: Lease | None = field(default=None, repr=False)

    @property
    def held(self) -> Lease:
        assert self.lease is not None
        return self.lease


class _Lineage:
    """The model, and the hands of everybody who acts on it."""

    def __init__(self, api: RunningApi, db: TestDatabase) -> None:
        self._api = api
        self._db = db
        self._writes = DeploymentWrites(db.database)
        self.tasks: list[_Task] = []

    # -- people, over HTTP

    async def create(self) -> None:
        source = {"kind": "template", "template": "wiki"}
        body = {"source": source, "inputs": GIVEN, "kubeconfig": kubeconfig(namespace="prod")}
        answer = await self._api.http.post(self._api.path(), json=body)
        assert answer.status_code == 201, answer.text
        self.tasks.append(_Task(UUID(answer.json()["task"]["id"])))

    async def redeploy(self, task: _Task) -> None:
        body = {"predecessorTaskId": str(task.id), "inputs": GIVEN, "kubeconfig": kubeconfig(namespace="prod")}
        answer = await self._api.http.post(self._api.path(), json=body)
        active = [each for each in self._successors(task) if each.status not in DEPLOYMENT_TASK.terminal]
        if task.gone:
            self._refused(answer, 404, "not-found")
        elif task.status not in REDEPLOYABLE:
            assert self._refused(answer, 409, "not-redeployable")["task"]["id"] == str(task.id)
        elif active:
            assert self._refused(answer, 409, "already-redeployed")["task"]["id"] == str(active[0].id)
        else:
            assert answer.status_code == 201, answer.text
            made = _Task(UUID(answer.json()["task"]["id"]), task.id, task.instance)
            assert answer.json()["task"]["instance"] == task.instance
            self.tasks.append(made)

    async def answer(self, task: _Task) -> None:
        body = {"values": GIVEN, "kubeconfig": kubeconfig(namespace="prod")}
        answer = await self._api.http.post(self._api.path(f"/{task.id}/input"), json=body)
        if task.gone:
            self._refused(answer, 404, "not-found")
        elif task.status is TaskStatus.BLOCKED and not task.submitted:
            assert answer.status_code == 200, answer.text
            task.submitted = True
        else:
            assert self._refused(answer, 409, "not-waiting")["task"]["status"] == task.status

    async def cancel(self, task: _Task) -> None:
        answer = await self._api.http.post(self._api.path(f"/{task.id}/cancel"))
        if task.gone:
            self._refused(answer, 404, "not-found")
        elif task.status in {TaskStatus.COMPLETED, TaskStatus.FAILED}:
            assert self._refused(answer, 409, "not-cancellable")["task"]["status"] == task.status
        else:
            assert answer.status_code == 200, answer.text
            if task.status in _LIVE:
                task.cancelling = True
            else:
                task.status, task.submitted = TaskStatus.CANCELLED, False

    # -- runs

    async def claim(self, task: _Task) -> None:
        # A lease that has run out stays good until somebody says so; that lets a crash come at any time.
        claimed = await self._writes.claim([task.id], rows.OWNER, 0.0)
        due = task.status is TaskStatus.QUEUED or (task.status is TaskStatus.BLOCKED and task.submitted)
        assert bool(claimed) is (due and not task.gone)
        for each in claimed:
            task.lease, task.status, task.submitted = each.lease, TaskStatus.RUNNING, False

    async def park(self, task: _Task) -> None:
        if task.status is TaskStatus.RUNNING and not task.cancelling:
            asked = json.dumps(TEMPLATE_FORM)
            await self._writes.request_inputs(task.held, rows.told(), timeline=rows.TIMELINE, asked=asked)
            task.status = TaskStatus.BLOCKED

    async def apply(self, task: _Task) -> None:
        if task.status is TaskStatus.RUNNING:
            # As the runner does: the recorded name, if there is one.
            task.instance = task.instance or f"wiki-{uuid4().hex[:8]}"
            identity = json.dumps({"instance": task.instance, "seed": str(UUID(int=7)), "defaults": {}})
            await self._writes.allocate(task.held, rows.told(), identity=identity, timeline=rows.TIMELINE)
            await self._writes.begin_applying(task.held, rows.told(), timeline=rows.TIMELINE)
            task.status = TaskStatus.APPLYING

    async def complete(self, task: _Task) -> None:
        if task.status is TaskStatus.APPLYING and not task.cancelling:
            await self._writes.complete(task.held, rows.told(), timeline=rows.TIMELINE)
            task.status = TaskStatus.COMPLETED

    async def fail(self, task: _Task) -> None:
        if task.status not in _LIVE:
            return
        if task.cancelling:
            await self._writes.acknowledge_cancel(task.held, rows.told(), timeline=rows.TIMELINE)
            task.status = TaskStatus.CANCELLED
        else:
            await self._writes.fail(task.held, rows.told(), timeline=rows.TIMELINE, failure=rows.FAILURE)
            task.status = TaskStatus.FAILED

    # -- the engine

    async def crash(self, _: _Task) -> None:
        live = [task for task in self.tasks if task.status in _LIVE]
        for verdict in ("interrupted-with-cancel", "interrupted"):
            await self._writes.sweep(verdict, 1000)
        for task in live:
            task.status = TaskStatus.CANCELLED if task.cancelling else TaskStatus.FAILED

    async def purge(self, task: _Task) -> None:
        if task.status in DEPLOYMENT_TASK.terminal and not task.gone:
            await purge(self._db, task.id)
            task.gone = True

    async def go_on(self, task: _Task) -> None:
        """What most lives have next."""
        match task.status:
            case TaskStatus.QUEUED:
                await self.claim(task)
            case TaskStatus.RUNNING:
                await self.apply(task)
            case TaskStatus.BLOCKED:
                await (self.claim if task.submitted else self.answer)(task)
            case TaskStatus.APPLYING:
                await self.fail(task)
            case _:
                await self.redeploy(task)

    async def go_on_asking(self, task: _Task) -> None:
        """The same, with a run that lacks something."""
        await (self.park if task.status is TaskStatus.RUNNING else self.go_on)(task)

    async def go_on_well(self, task: _Task) -> None:
        """The same, with a run that succeeds."""
        await (self.complete if task.status is TaskStatus.APPLYING else self.go_on)(task)

    # -- what is true

    async def check(self) -> None:
        """Every task, as people see it, is what the model says."""
        for task in self.tasks:
            answer = await self._api.http.get(self._api.path(f"/{task.id}"))
            if task.gone:
                assert answer.status_code == 404
                continue
            shown = answer.json()["task"]
            assert (shown["status"], shown["instance"]) == (task.status, task.instance)
            assert shown["predecessorId"] == (None if task.predecessor is None else str(task.predecessor))
            assert (shown["resumeRequestedAt"] is not None) == task.submitted
            assert (shown["presentation"] == "cancelling") == (task.cancelling and task.status in _LIVE)
            after = [each.id for each in self._successors(task) if not each.gone]
            assert shown["supersededBy"] is None if not after else UUID(shown["supersededBy"]) in after
        assert await violations(self._db.database, _CALM) == []

    def _successors(self, task: _Task) -> list[_Task]:
        return [each for each in self.tasks if each.predecessor == task.id]

    def _refused(self, answer: httpx.Response, code: int, kind: str) -> dict[str, Any]:
        problem = answer.json()
        assert (answer.status_code, problem["type"].rpartition(":")[2]) == (code, kind), answer.text
        return problem.get("snapshot", {})


Step = Callable[[_Lineage, _Task], Awaitable[None]]
STEPS: list[Step] = [
    _Lineage.redeploy, _Lineage.answer, _Lineage.cancel, _Lineage.claim, _Lineage.park, _Lineage.apply,
    _Lineage.complete, _Lineage.fail, _Lineage.crash, _Lineage.purge,
]  # fmt: skip
PLAUSIBLE: list[Step] = [
    *[_Lineage.go_on] * 4, *[_Lineage.go_on_asking] * 3, _Lineage.go_on_well, _Lineage.cancel, *[_Lineage.purge] * 2,
]  # fmt: skip
REACHED = Counter[str]()
"""How far the histories went: one that never gets anywhere proves nothing."""
# Most steps act on the latest task, as most people do; some on one that is long over.
HISTORY = st.lists(
    st.tuples(st.sampled_from(STEPS + PLAUSIBLE), st.sampled_from([0, 0, 0, 1, 2])), min_size=15, max_size=40
)


@given(HISTORY)
@settings(max_examples=50, deadline=None, database=None, suppress_health_check=list(HealthCheck))
async def test_every_answer_in_the_life_of_a_lineage_is_the_one_that_the_model_gives(
    api: RunningApi, module_db: TestDatabase, history: list[tuple[Step, int]]
) -> None:
    lineage = _Lineage(api, module_db)
    await lineage.create()
    for step, back in history:
        await step(lineage, lineage.tasks[-1 - min(back, len(lineage.tasks) - 1)])
    await lineage.check()
    for task in lineage.tasks:
        REACHED[task.status] += 1
        REACHED["purged"] += task.gone
        REACHED["inherited"] += task.predecessor is not None and task.instance is not None


async def test_the_histories_reached_every_status_and_long_chains() -> None:
    assert REACHED.keys() >= set(TaskStatus), REACHED
    assert min(REACHED["purged"], REACHED["inherited"]) > 0, REACHED


async def test_no_history_has_left_the_password_behind(api: RunningApi, module_db: TestDatabase) -> None:
    assert (await api.http.get(api.path())).json()["tasks"]
    assert await found_in_rows(module_db, Cage([Canary("password", PASSWORD)])) == []
