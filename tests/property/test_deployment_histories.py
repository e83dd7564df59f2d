"""Random histories of tasks against Postgres, with any lease ever held; the transition table is the oracle."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass
from datetime import UTC, datetime
from uuid import UUID

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    initialize,
    invariant,
    multiple,
    rule,
    run_state_machine_as_test,
)

from locktender.contracts.deployments import flow
from locktender.contracts.deployments.flow import DEPLOYMENT_TASK, TaskStatus
from locktender.contracts.deployments.policy import Deadlines
from locktender.contracts.kernel.errors import LeaseLost, WrongState
from locktender.contracts.kernel.lease import Lease
from locktender.contracts.kernel.machine import Fence, Transition
from locktender.storage.deployments import transitions
from locktender.storage.deployments.writes import DeploymentWrites
from locktender.storage.verify import Tolerance, violations
from locktender.testkit import rows
from locktender.testkit.database import TestDatabase, migrated_database
from locktender.testkit.servers import PostgresServer

pytestmark = pytest.mark.takes(seconds=20)

_START = datetime(2031, 1, 1, tzinfo=UTC)
_DEADLINES = Deadlines(start=100, cancel_ack=40, run=200)
_TTL = 30.0
_PATIENCE = {"cancel-ack-deadline": 40.0, "timeout": 200.0, "never-started": 100.0}
_STRICT = Tolerance(window=1e9, publish=1e9, sweep=0, deadlines=_DEADLINES)
_WAITING = frozenset({"I06"})


@dataclass
class _Task:
    """What has to be true of a row."""

    created: float
    status: TaskStatus = TaskStatus.QUEUED
    epoch: int = 0
    revision: int = 1
    claimed: float = 0
    expires: float = 0
    asked: float | None = None
    submitted: float | None = None

    def allows(self, step: Transition[TaskStatus], epoch: int | None = None, *, unless: bool = False) -> type | None:
        """The error that the step has to meet, or None."""
        if step.fence in {Fence.HOLD, Fence.RELEASE} and epoch != self.epoch:
            return LeaseLost
        return WrongState if self.status not in step.sources or unless else None

    def take(self, step: Transition[TaskStatus], now: float) -> None:
        """The effect of the step, by the table alone."""
        self.status = step.target or self.status
        self.submitted = self.submitted if self.status is TaskStatus.BLOCKED else None
        self.epoch += step.fence in {Fence.ACQUIRE, Fence.BREAK}
        self.revision += step.event is not None
        if step.fence is Fence.ACQUIRE:
            self.claimed, self.expires = now, now + _TTL


class Histories(RuleBasedStateMachine):
    """Tasks, everybody who ever held one, and time."""

    tasks = Bundle("tasks")
    leases = Bundle("leases")

    def __init__(self, runner: asyncio.Runner, db: TestDatabase) -> None:
        super().__init__()
        self.run = runner.run
        self.db = db
        self.writes = DeploymentWrites(db.database)
        self.model: dict[UUID, _Task] = {}
        self.now = 0.0

    @initialize()
    def begin(self) -> None:
        self.run(self.db.admin.execute("truncate locktender.deployment_task, locktender.outbox cascade"))
        self.run(self.db.at(_START))

    @rule(target=tasks)
    def create(self) -> UUID:
        task = self.run(rows.created(self.db))
        self.model[task] = _Task(created=self.now)
        return task

    @rule(target=leases, task=tasks)
    def claim(self, task: UUID) -> object:
        model = self.model[task]
        claims = self.run(self.writes.claim([task], rows.OWNER, _TTL))
        step = flow.RESUME if model.submitted is not None else flow.CLAIM
        assert bool(claims) is (model.allows(step) is None)
        if not claims:
            return multiple()
        model.take(step, self.now)
        assert claims[0].lease.epoch == model.epoch
        return claims[0].lease

    @rule(target=leases)
    def start(self) -> object:
        # Most of what can go wrong begins with a run, so that most histories should have one.
        return self.claim(self.create())

    @rule(lease=leases)
    def renew(self, lease: Lease) -> None:
        model = self.model[lease.row_id]
        [answer] = self.run(self.writes.renew([lease], _TTL))
        assert answer.held is (model.allows(flow.RENEW, lease.epoch) is None)
        if answer.held:
            model.expires = self.now + _TTL
            assert answer.cancel_requested is (model.asked is not None)

    @rule(lease=leases)
    def record(self, lease: Lease) -> None:
        self._fenced(flow.RECORD, lease, lambda told: self.writes.record(lease, told, phase="apply", timeline="{}"))

    @rule(lease=leases)
    def begin_applying(self, lease: Lease) -> None:
        self._fenced(flow.BEGIN_APPLYING, lease, lambda told: self.writes.begin_applying(lease, told, timeline="{}"))

    @rule(lease=leases)
    def complete(self, lease: Lease) -> None:
        unless = self.model[lease.row_id].asked is not None
        self._fenced(flow.COMPLETE, lease, lambda told: self.writes.complete(lease, told, timeline="{}"), unless=unless)

    @rule(lease=leases)
    def fail(self, lease: Lease) -> None:
        unless = self.model[lease.row_id].asked is not None
        fail = self.writes.fail
        self._fenced(
            flow.FAIL, lease, lambda told: fail(lease, told, timeline="{}", failure=rows.FAILURE), unless=unless
        )

    @rule(lease=leases)
    def acknowledge_cancel(self, lease: Lease) -> None:
        acknowledge = self.writes.acknowledge_cancel
        self._fenced(flow.ACKNOWLEDGE_CANCEL, lease, lambda told: acknowledge(lease, told, timeline="{}"))

    @rule(lease=leases)
    def request_inputs(self, lease: Lease) -> None:
        unless = self.model[lease.row_id].asked is not None
        ask = self.writes.request_inputs
        self._fenced(
            flow.REQUEST_INPUTS, lease, lambda told: ask(lease, told, timeline="{}", asked=rows.ASKED), unless=unless
        )

    @rule(task=tasks)
    def submit_input(self, task: UUID) -> None:
        model = self.model[task]
        refused = model.allows(flow.SUBMIT_INPUT, unless=model.submitted is not None)
        if self._attempt(refused, self.writes.submit_input(task, "ada", "api-1", rows.told(actor="api"))):
            model.take(flow.SUBMIT_INPUT, self.now)
            model.submitted = self.now

    @rule()
    def withdraw_input(self) -> None:
        due = {task for task, model in self.model.items() if (model.submitted or self.now) <= self.now - 100}
        assert set(self.run(self.writes.withdraw_input(1000, 100.0))) == due
        for task in due:
            self.model[task].take(flow.WITHDRAW_INPUT, self.now)
            self.model[task].submitted = None

    @rule(lease=leases)
    def allocate(self, lease: Lease) -> None:
        name = self.writes.allocate
        self._fenced(flow.ALLOCATE, lease, lambda told: name(lease, told, identity="{}", timeline="{}"))

    @rule(task=tasks)
    def cancel(self, task: UUID) -> None:
        refused = self.model[task].allows(flow.CANCEL)
        if self._attempt(refused, self.writes.cancel(task, "ada", rows.told(actor="api"))):
            self.model[task].take(flow.CANCEL, self.now)
            self.model[task].asked = self.now

    @rule(task=tasks)
    def request_cancel(self, task: UUID) -> None:
        model = self.model[task]
        refused = model.allows(flow.REQUEST_CANCEL, unless=model.asked is not None)
        if self._attempt(refused, self.writes.request_cancel(task, "ada", rows.told(actor="api"))):
            model.take(flow.REQUEST_CANCEL, self.now)
            model.asked = self.now

    @rule(seconds=st.sampled_from([1, 29, 30, 41, 101, 201]))
    def wait(self, seconds: int) -> None:
        self.run(self.db.advance(seconds))
        self.now += seconds

    @rule(reasons=st.permutations(sorted(transitions.SWEEPS)))
    def reaper_pass(self, reasons: list[str]) -> None:
        # In any order: a verdict must be right by itself, not because another was asked first.
        for reason in reasons:
            self._sweep(reason)
        assert self.run(violations(self.db.database, _STRICT)) == []

    def _sweep(self, reason: str) -> None:
        due = {task for task, model in self.model.items() if self._due(reason, model)}
        ended = self.run(self.writes.sweep(reason, 1000, _PATIENCE.get(reason)))
        assert set(ended) == due
        for task in due:
            self.model[task].take(_VERDICTS[reason], self.now)

    @invariant()
    def the_rows_are_what_the_table_says(self) -> None:
        if not self.model:
            return
        found = self.run(
            self.db.admin.fetch(
                "select id, status, lease_epoch, revision, cancel_requested_at is not null, lease_owner is not null"
                " from locktender.deployment_task"
            )
        )
        assert {row["id"]: tuple(row)[1:] for row in found} == {
            task: (m.status, m.epoch, m.revision, m.asked is not None, m.status in DEPLOYMENT_TASK.leased)
            for task, m in self.model.items()
        }

    def teardown(self) -> None:
        found = self.run(violations(self.db.database, _STRICT))
        assert [each for each in found if each.invariant not in _WAITING] == []

    def _due(self, reason: str, model: _Task) -> bool:
        if model.allows(_VERDICTS[reason]) is not None:
            return False
        match reason:
            case "cancel-ack-deadline":
                return model.asked is not None and model.asked <= self.now - 40
            case "interrupted-with-cancel":
                return model.asked is not None and model.expires <= self.now
            case "timeout":
                return model.asked is None and model.claimed <= self.now - 200
            case "interrupted":
                return model.asked is None and model.expires <= self.now
            case _:
                return model.created <= self.now - 100

    def _fenced(
        self,
        step: Transition[TaskStatus],
        lease: Lease,
        write: "Callable[[rows.Told], Awaitable[object]]",
        *,
        unless: bool = False,
    ) -> None:
        model = self.model[lease.row_id]
        if self._attempt(model.allows(step, lease.epoch, unless=unless), write(rows.told())):
            model.take(step, self.now)

    def _attempt(self, refused: type | None, write: Awaitable[object]) -> bool:
        async def attempt() -> Exception | None:
            try:
                await write
            except (LeaseLost, WrongState) as error:
                return error
            return None

        error = self.run(attempt())
        assert (None if error is None else type(error)) is refused
        return error is None


_VERDICTS = {
    "cancel-ack-deadline": flow.CANCEL_OVERDUE,
    "interrupted-with-cancel": flow.CANCEL_INTERRUPTED,
    "timeout": flow.OVERRUN,
    "interrupted": flow.INTERRUPT,
    "never-started": flow.NEVER_STARTED,
}


def test_no_history_breaks_an_invariant(postgres_server: PostgresServer, database_template: str) -> None:
    thorough = settings(
        max_examples=20, stateful_step_count=30, deadline=None, suppress_health_check=list(HealthCheck), database=None
    )
    with asyncio.Runner() as runner:
        stack = AsyncExitStack()
        db = runner.run(stack.enter_async_context(migrated_database(postgres_server, database_template)))
        try:
            run_state_machine_as_test(lambda: Histories(runner, db), settings=thorough)
        finally:
            runner.run(stack.aclose())
