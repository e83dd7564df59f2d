"""Random histories of stacks at the storage seam: every command, every runner, and time; the rules: `stack_truth`.

Nothing here knows what a command has to come to. A command may be refused; whatever it does, the rules hold after it.
"""

import asyncio
import hashlib
import secrets
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, TypeVar
from uuid import UUID

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from locktender.contracts.kernel.errors import LeaseLost, LocktenderError
from locktender.contracts.kernel.lease import Owner
from locktender.contracts.stacks.analysis import GapReason, PlanCounts, PlanGap, PlanSummary
from locktender.contracts.stacks.flow import STACK_RUN
from locktender.contracts.stacks.patience import StackDeadlines
from locktender.contracts.stacks.vocabulary import CancellationReason, DeploymentMode, RunFailureReason
from locktender.contracts.stacks.wire import Done, Narrowing, Outcome, RunFailure
from locktender.storage.kernel.database import Row, Transaction
from locktender.storage.stacks.assign import AcceptedRun, acknowledge, renew, take
from locktender.storage.stacks.cancel import request_cancel
from locktender.storage.stacks.clear import cancel_pending
from locktender.storage.stacks.complete import report
from locktender.storage.stacks.confirm import confirm_apply, confirm_replan, confirm_skip
from locktender.storage.stacks.groups import create_group
from locktender.storage.stacks.prioritize import deprioritize, prioritize
from locktender.storage.stacks.reconcile import reconcilers
from locktender.storage.stacks.remote import Offered, accept_remote, dispatch_failed, force_delete_runner, poll
from locktender.storage.stacks.retry import retry
from locktender.storage.stacks.skip import skip, skip_all
from locktender.storage.stacks.sweeps import row_sweeps
from locktender.testkit.database import TestDatabase
from locktender.testkit.stack_truth import assert_order_kept, broken_rules, lanes
from locktender.testkit.stacks import APPLIED, StackRig, new_stack, planned

T = TypeVar("T")

_TTL, _PROMISE = 60.0, 40.0
_CAP = 3
_DEADLINES = StackDeadlines(assignment=_PROMISE, max_assignment_attempts=_CAP, startup=2000.0, execution=_TTL)
_OPEN_FIRST = """
select d.id from locktender.stack_deployment d
order by d.status in ('finished', 'failed', 'cancelled', 'skipped'), {order}, d.id
"""
_WAITING = "select id from locktender.stack_deployment where status = 'waiting' order by id"
_PENDING = "select id from locktender.stack_run where status = 'pending' order by created_at, id"
_COUNTERS = "select id, assignment_attempts, lease_epoch, started_at from locktender.stack_run"
_MODE = "select mode, stack_id from locktender.stack_deployment where id = $1"

_UNMEASURED = PlanSummary(has_changes=True, counts=PlanCounts(), gaps=(PlanGap(reason=GapReason.INCOMPLETE),))
DONES = {
    "changes": planned(),
    "none": planned(changes=False),
    "destroys": planned(delete=1),
    "replaces": planned(replace=2),
    "unmeasured": planned().model_copy(update={"summary": _UNMEASURED}),
    "no summary": planned().model_copy(update={"summary": None}),
    "applied": APPLIED,
    "failed": Done(
        outcome=Outcome.FAILURE,
        exit_code=1,
        failure=RunFailure(reason=RunFailureReason.ENGINE_FAILED, message="terraform plan failed"),
    ),
    "failed in silence": Done(outcome=Outcome.FAILURE),
    "cancelled": Done(outcome=Outcome.CANCELLED),
    "deadline": Done(outcome=Outcome.CANCELLED, cancellation_reason=CancellationReason.RUN_DEADLINE),
}
_PICK = st.integers(0, 5)


@dataclass(frozen=True, slots=True)
class _Promise:
    offered: Offered
    secret: bytes


class StackHistories(RuleBasedStateMachine):
    """Three stacks, the people and runners around them, and time.

    Picks are of what is open first, so that most steps do something; what has ended is picked, too.
    """

    def __init__(self, runner: asyncio.Runner, db: TestDatabase) -> None:
        super().__init__()
        self.run = runner.run
        self.db = db
        self.rigs: list[StackRig] = []
        self.taken: list[AcceptedRun] = []
        self.promises: list[_Promise] = []
        self.counters: dict[UUID, tuple[int, int]] = {}
        self.accepted: set[UUID] = set()
        self.lanes: dict[UUID, Any] = {}

    @initialize()
    def begin(self) -> None:
        self.run(self._begin())

    # -- people

    @rule(stack=_PICK, mode=st.sampled_from(DeploymentMode))
    def create(self, stack: int, mode: DeploymentMode) -> None:
        rig = self.rigs[stack % len(self.rigs)]
        self.run(self._only_looking(mode is DeploymentMode.PLAN_UNLOCKED, rig.stack_id, rig.deploy(mode)))

    @rule(pick=_PICK)
    def cancel(self, pick: int) -> None:
        self._command(pick, lambda tx, key: request_cancel(tx, key, "ada", {}))

    @rule(pick=_PICK, how=st.sampled_from(["skip", "leave", "skip all", "clear"]))
    def leave(self, pick: int, how: str) -> None:
        rig = self.rigs[pick % len(self.rigs)]
        match how:
            case "skip":
                self._command(pick, lambda tx, key: skip(tx, key, "ada", {}), newest=True)
            case "leave":
                self._command(pick, lambda tx, key: confirm_skip(tx, key, "ada", {}), among=_WAITING)
            case "skip all":
                self.run(rig.transact(lambda tx: skip_all(tx, rig.stack_id, "ada", {})))
            case _:
                self.run(cancel_pending(self.db.database, "acme", ["*"], "ada", {}))

    @rule(pick=_PICK, ahead=st.booleans())
    def place(self, pick: int, ahead: bool) -> None:  # noqa: FBT001 - drawn
        move = prioritize if ahead else deprioritize
        self._command(pick, lambda tx, key: move(tx, key, "ada", {}), newest=True)

    @rule(pick=_PICK)
    def confirm(self, pick: int) -> None:
        apply = confirm_apply
        self._command(pick, lambda tx, key: apply(tx, key, "ada", plan_digest=None, variables_digest=None, trace={}),
                      among=_WAITING)  # fmt: skip

    @rule(pick=_PICK, narrow=st.booleans())
    def replan(self, pick: int, narrow: bool) -> None:  # noqa: FBT001 - drawn
        narrowing = Narrowing(targets=("a.b",)) if narrow else Narrowing(replaces=("a.b",))
        again = confirm_replan
        self._command(pick, lambda tx, key: again(tx, key, "ada", narrowing=narrowing, trace={}), among=_WAITING)

    @rule(pick=_PICK)
    def retry(self, pick: int) -> None:
        self._command(pick, lambda tx, key: retry(tx, key, "ada", request_digest=b"d", trace={}), newest=True)

    # -- runners

    @rule(pick=_PICK)
    def take(self, pick: int) -> None:
        """By two at the same moment."""
        self.run(self._race(pick))

    @rule(pick=_PICK, ending=st.sampled_from(sorted(DONES)))
    def report(self, pick: int, ending: str) -> None:
        """Also by those that have lost the run, or have reported before."""
        if self.taken:
            self.run(self._report(self.taken[-1 - pick % len(self.taken)], DONES[ending]))

    @rule(pick=_PICK, ending=st.sampled_from(sorted(DONES)))
    def carry_out(self, pick: int, ending: str) -> None:
        # Most of what can go wrong comes after a run, so that most histories should have some.
        self.run(self._race(pick))
        if self.taken:
            self.run(self._report(self.taken[-1], DONES[ending]))

    @rule(pick=_PICK, then=st.sampled_from(["applied", "failed", "cancelled", "silence"]))
    def confirm_and_carry_out(self, pick: int, then: str) -> None:
        # As above, for what comes after a confirmation.
        self.carry_out(pick, "changes")
        self.confirm(pick)
        if then == "silence":
            self.take(pick)
        else:
            self.carry_out(pick, then)

    @rule(pick=_PICK, asked=st.booleans())
    def stop(self, pick: int, asked: bool) -> None:  # noqa: FBT001 - drawn
        """The runner says that it stops, whether or not somebody wants that."""
        if not self.taken:
            return
        run = self.taken[-1 - pick % len(self.taken)]
        if asked:
            self._attempt(self._transact(lambda tx: request_cancel(tx, run.row["deployment_id"], "ada", {})))
        self._attempt(self._transact(lambda tx: acknowledge(tx, run.lease.row_id, run.lease.epoch, {})))

    @rule()
    def renew(self) -> None:
        self.run(renew(self.db.database, [each.lease for each in self.taken[-3:]]))

    @rule()
    def poll(self) -> None:
        secret = secrets.token_bytes(8)
        offered = self.run(
            self._transact(
                lambda tx: poll(tx, self.group, name="box", labels=(), assignment_hash=secret,
                                assignment_seconds=_PROMISE)
            )
        )  # fmt: skip
        if offered is not None:
            self.promises.append(_Promise(offered, secret))

    @rule(pick=_PICK)
    def accept(self, pick: int) -> None:
        if self.promises:
            promise = self.promises[-1 - pick % len(self.promises)]
            self._took(self._attempt(self._transact(lambda tx: _accepted(tx, promise))))

    @rule(pick=_PICK, deleted=st.booleans())
    def lose_a_stub(self, pick: int, deleted: bool) -> None:  # noqa: FBT001 - drawn
        if not self.promises:
            return
        runner = self.promises[-1 - pick % len(self.promises)].offered.runner["id"]
        if deleted:
            self._attempt(self._transact(lambda tx: force_delete_runner(tx, self.group, runner, "ada", {})))
        else:
            self._attempt(self._transact(lambda tx: dispatch_failed(tx, self.group, runner, "no room", {})))

    # -- time

    @rule(seconds=st.sampled_from([0, 6, 41, 61, 301]), sweeps=st.booleans())
    def wait(self, seconds: int, sweeps: bool) -> None:  # noqa: FBT001 - drawn
        self.run(self.db.advance(seconds))
        if sweeps:
            self.run(self._sweep())

    @invariant()
    def the_rules_hold(self) -> None:
        if self.rigs:
            self.run(self._check())

    def teardown(self) -> None:
        self.run(self._agree())

    # -- how

    async def _begin(self) -> None:
        await self.db.admin.execute(
            "truncate locktender.stack, locktender.stack_runner_group, locktender.outbox cascade"
        )
        name = f"far-{secrets.token_hex(4)}"
        self.group = await self._transact(
            lambda tx: create_group(tx, "acme", name, labels=[], capacity=2, token_hash=name.encode(), actor="ada")
        )
        policy = {"confirmation_timeout_seconds": 300, "queued_timeout_seconds": 900, "supersede_after_seconds": 60}
        self.rigs = [
            await new_stack(self.db, auto_approve="manual", **policy),
            await new_stack(self.db, auto_approve="auto", runner_group=name),
            await new_stack(self.db, auto_approve="non_destructive"),
        ]
        # Somebody waits from the beginning on, so that no history is spent on making the first ones.
        for rig in self.rigs:
            for mode in (DeploymentMode.PLAN, DeploymentMode.REFRESH):
                await rig.deploy(mode)
        self.lanes = await lanes(self.db.admin)

    async def _transact(self, work: Callable[[Transaction], Awaitable[T]]) -> T:
        return await self.db.database.transact(work)

    async def _picked(self, pick: int, among: str) -> UUID | None:
        rows = await self.db.admin.fetch(among)
        return rows[pick % len(rows)]["id"] if rows else None

    def _command(
        self,
        pick: int,
        work: Callable[[Transaction, UUID], Awaitable[object]],
        *,
        among: str | None = None,
        newest: bool = False,
    ) -> None:
        listed = among or _OPEN_FIRST.format(order="d.created_at desc" if newest else "d.created_at")

        async def command() -> None:
            key = await self._picked(pick, listed)
            if key is not None:
                row = await self.db.admin.fetchrow(_MODE, key)
                assert row is not None
                looks = row["mode"] == DeploymentMode.PLAN_UNLOCKED
                await self._only_looking(looks, row["stack_id"], self._transact(lambda tx: work(tx, key)))

        self._attempt(command())

    async def _only_looking(self, looks: bool, stack_id: UUID, work: Awaitable[object]) -> None:  # noqa: FBT001 - asked
        """Await `work`, which must leave the lane as it was where it is about something that only looks."""
        before = (await lanes(self.db.admin))[stack_id] if looks else None
        try:
            await work
        finally:
            if before is not None:
                assert (await lanes(self.db.admin))[stack_id] == before, "what only looks changed the lane"

    def _attempt(self, work: Awaitable[T]) -> T | None:
        async def attempt() -> T | None:
            try:
                return await work
            except LocktenderError:
                return None

        return self.run(attempt())

    async def _race(self, pick: int) -> None:
        key = await self._picked(pick, _PENDING)
        if key is None:
            return
        async with asyncio.TaskGroup() as group:
            racers = [
                group.create_task(
                    take(self.db.database, key, owner=Owner(f"r/{n}"), ttl=_TTL, token_hash=secrets.token_bytes(8))
                )
                for n in range(2)
            ]
        won = [each for each in (racer.result() for racer in racers) if each is not None]
        assert len(won) == 1, "a pending run has exactly one winner"
        self._took(won[0])

    def _took(self, taken: AcceptedRun | None) -> None:
        if taken is None or taken.lease in [each.lease for each in self.taken]:
            return
        assert taken.lease.row_id not in self.accepted, "a run was accepted twice"
        self.accepted.add(taken.lease.row_id)
        self.taken.append(taken)

    async def _report(self, taken: AcceptedRun, done: Done) -> None:
        key = taken.lease.row_id
        run = await self.db.admin.fetchrow("select * from locktender.stack_run where id = $1", key)
        assert run is not None
        held = run["lease_epoch"] == taken.lease.epoch and run["status"] in STACK_RUN.leased
        looks = not run["state_locked"]
        try:
            await self._only_looking(
                looks, run["stack_id"], self._transact(lambda tx: report(tx, key, taken.lease.epoch, done, {}))
            )
        except LeaseLost:
            assert not held, "who holds the epoch may report"
        else:
            assert held, "a stale epoch ended a run"

    async def _sweep(self) -> None:
        for sweep in row_sweeps(_DEADLINES):
            await sweep.run(self.db.database, 100, failed=_unexpected)

    async def _agree(self) -> None:
        for sweep in reconcilers():
            found = await sweep.run(self.db.database, 100, failed=_unexpected)
            assert found == [], f"{sweep.name} found {found}"

    async def _check(self) -> None:
        assert await broken_rules(self.db.admin) == []
        now = await lanes(self.db.admin)
        await assert_order_kept(self.db.admin, self.lanes, now)
        self.lanes = now
        for row in await self.db.admin.fetch(_COUNTERS):
            attempts, epoch = row["assignment_attempts"], row["lease_epoch"]
            former = self.counters.get(row["id"], (0, 0))
            assert former[0] <= attempts <= _CAP, "attempts went back, or beyond their cap"
            assert former[1] <= epoch, "an epoch went back"
            assert (row["started_at"] is not None) == (row["id"] in self.accepted), "accepted and started are one"
            self.counters[row["id"]] = attempts, epoch


async def _accepted(tx: Transaction, promise: _Promise) -> AcceptedRun:
    run: Row = promise.offered.run
    token = hashlib.sha256(promise.secret).digest()
    return await accept_remote(
        tx, run["id"], promise.offered.runner["id"], assignment_hash=promise.secret, token_hash=token, ttl=_TTL,
        trace={},
    )  # fmt: skip


def _unexpected(row: UUID, error: Exception) -> None:
    raise AssertionError(row) from error
