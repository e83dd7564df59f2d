"""Random histories of stacks at the storage seam: every command, every runner, and time; the rules: `stack_truth`.

Nothing here knows what a command has to come to. A command may be refused; whatever it does, the rules hold after it.
"""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from uuid import UUID

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from locktender.contracts.kernel.errors import LocktenderError
from locktender.contracts.stacks.analysis import GapReason, PlanCounts, PlanGap, PlanSummary
from locktender.contracts.stacks.vocabulary import CancellationReason, DeploymentMode, RunFailureReason
from locktender.contracts.stacks.wire import Done, Narrowing, Outcome, RunFailure
from locktender.storage.kernel.database import Transaction
from locktender.storage.stacks.assign import acknowledge, renew
from locktender.storage.stacks.cancel import request_cancel
from locktender.storage.stacks.clear import cancel_pending
from locktender.storage.stacks.confirm import confirm_apply, confirm_replan, confirm_skip
from locktender.storage.stacks.prioritize import deprioritize, prioritize
from locktender.storage.stacks.remote import dispatch_failed, force_delete_runner
from locktender.storage.stacks.retry import retry
from locktender.storage.stacks.skip import skip, skip_all
from locktender.testkit.database import TestDatabase
from locktender.testkit.stack_ground import StackGround
from locktender.testkit.stacks import APPLIED, planned

_ENDED = "d.status in ('finished', 'failed', 'cancelled', 'skipped')"
_OLDEST = f"select d.id from locktender.stack_deployment d order by {_ENDED}, d.created_at, d.id"  # noqa: S608 - ours
_NEWEST = f"select d.id from locktender.stack_deployment d order by {_ENDED}, d.created_at desc, d.id"  # noqa: S608 - ours
_WAITING = "select id from locktender.stack_deployment where status = 'waiting' order by id"

_UNMEASURED = PlanSummary(has_changes=True, counts=PlanCounts(), gaps=(PlanGap(reason=GapReason.INCOMPLETE),))
_SAID = RunFailure(reason=RunFailureReason.ENGINE_FAILED, message="terraform plan failed")
DONES = {
    "changes": planned(),
    "none": planned(changes=False),
    "destroys": planned(delete=1),
    "replaces": planned(replace=2),
    "unmeasured": planned().model_copy(update={"summary": _UNMEASURED}),
    "no summary": planned().model_copy(update={"summary": None}),
    "applied": APPLIED,
    "failed": Done(outcome=Outcome.FAILURE, exit_code=1, failure=_SAID),
    "failed in silence": Done(outcome=Outcome.FAILURE),
    "cancelled": Done(outcome=Outcome.CANCELLED),
    "deadline": Done(outcome=Outcome.CANCELLED, cancellation_reason=CancellationReason.RUN_DEADLINE),
}
"""What runners may say at the end."""
_PICK = st.integers(0, 5)
_ENDINGS = st.sampled_from(sorted(DONES))


class StackHistories(RuleBasedStateMachine):
    """Three stacks, the people and runners around them, and time.

    Picks are of what is open first, so that most steps do something; what has ended is picked, too.
    """

    def __init__(self, runner: asyncio.Runner, db: TestDatabase) -> None:
        super().__init__()
        self.run = runner.run
        self.db = db
        self.ground: StackGround | None = None

    @initialize()
    def begin(self) -> None:
        self.ground = self.run(StackGround.begun(self.db))

    @property
    def here(self) -> StackGround:
        """The ground, once there is one."""
        assert self.ground is not None
        return self.ground

    # -- people

    @rule(stack=_PICK, mode=st.sampled_from(DeploymentMode))
    def create(self, stack: int, mode: DeploymentMode) -> None:
        rig = self.here.rigs[stack % len(self.here.rigs)]
        self.run(self.here.beside_the_lane(not mode.uses_lane, rig.stack_id, rig.deploy(mode)))

    @rule(pick=_PICK)
    def cancel(self, pick: int) -> None:
        self._command(pick, _OLDEST, lambda tx, key: request_cancel(tx, key, "ada", {}))

    @rule(pick=_PICK, how=st.sampled_from(["skip", "leave", "skip all", "clear"]))
    def leave(self, pick: int, how: str) -> None:
        rig = self.here.rigs[pick % len(self.here.rigs)]
        match how:
            case "skip":
                self._command(pick, _NEWEST, lambda tx, key: skip(tx, key, "ada", {}))
            case "leave":
                self._command(pick, _WAITING, lambda tx, key: confirm_skip(tx, key, "ada", {}))
            case "skip all":
                self.run(rig.transact(lambda tx: skip_all(tx, rig.stack_id, "ada", {})))
            case _:
                self.run(cancel_pending(self.db.database, "acme", ["*"], "ada", {}))

    @rule(pick=_PICK, ahead=st.booleans())
    def place(self, pick: int, ahead: bool) -> None:  # noqa: FBT001 - drawn
        move = prioritize if ahead else deprioritize
        self._command(pick, _NEWEST, lambda tx, key: move(tx, key, "ada", {}))

    @rule(pick=_PICK)
    def confirm(self, pick: int) -> None:
        async def apply(tx: Transaction, key: UUID) -> None:
            await confirm_apply(tx, key, "ada", plan_digest=None, variables_digest=None, trace={})

        self._command(pick, _WAITING, apply)

    @rule(pick=_PICK, narrow=st.booleans())
    def replan(self, pick: int, narrow: bool) -> None:  # noqa: FBT001 - drawn
        narrowing = Narrowing(targets=("a.b",)) if narrow else Narrowing(replaces=("a.b",))
        again = confirm_replan
        self._command(pick, _WAITING, lambda tx, key: again(tx, key, "ada", narrowing=narrowing, trace={}))

    @rule(pick=_PICK)
    def retry(self, pick: int) -> None:
        self._command(pick, _NEWEST, lambda tx, key: retry(tx, key, "ada", request_digest=b"d", trace={}))

    # -- runners

    @rule(pick=_PICK)
    def take(self, pick: int) -> None:
        self.run(self.here.race(pick))

    @rule(pick=_PICK, ending=_ENDINGS)
    def report(self, pick: int, ending: str) -> None:
        """Also by those that have lost the run, or have reported before."""
        if taken := self.here.taken:
            self.run(self.here.report(taken[-1 - pick % len(taken)], DONES[ending]))

    @rule(pick=_PICK, ending=_ENDINGS)
    def carry_out(self, pick: int, ending: str) -> None:
        # Most of what can go wrong comes after a run, so that most histories should have some.
        self.take(pick)
        if self.here.taken:
            self.run(self.here.report(self.here.taken[-1], DONES[ending]))

    @rule(pick=_PICK, then=st.sampled_from(["applied", "failed", "cancelled", "silence"]))
    def confirm_and_carry_out(self, pick: int, then: str) -> None:
        # As above, for what comes after a confirmation, and after an apply that nobody heard of again.
        self.carry_out(pick, "changes")
        self.confirm(pick)
        if then != "silence":
            self.carry_out(pick, then)
            return
        self.take(pick)
        self.wait(61, sweeps=True)
        self.carry_out(pick, "changes")

    @rule(pick=_PICK, asked=st.booleans())
    def stop(self, pick: int, asked: bool) -> None:  # noqa: FBT001 - drawn
        """A runner says that it stops, whether or not somebody wants that."""
        if not self.here.taken:
            return
        run = self.here.taken[-1 - pick % len(self.here.taken)]
        if asked:
            self._attempt(lambda tx: request_cancel(tx, run.row["deployment_id"], "ada", {}))
        self._attempt(lambda tx: acknowledge(tx, run.lease.row_id, run.lease.epoch, {}))

    @rule()
    def renew(self) -> None:
        self.run(renew(self.db.database, [each.lease for each in self.here.taken[-3:]]))

    @rule()
    def poll(self) -> None:
        self.run(self.here.poll())

    @rule(pick=_PICK)
    def accept(self, pick: int) -> None:
        if promises := self.here.promises:
            self.run(self.here.accept(promises[-1 - pick % len(promises)]))

    @rule(pick=_PICK, deleted=st.booleans())
    def lose_a_stub(self, pick: int, deleted: bool) -> None:  # noqa: FBT001 - drawn
        if not self.here.promises:
            return
        group, runner = self.here.group, self.here.promises[-1 - pick % len(self.here.promises)].offered.runner["id"]
        if deleted:
            self._attempt(lambda tx: force_delete_runner(tx, group, runner, "ada", {}))
        else:
            self._attempt(lambda tx: dispatch_failed(tx, group, runner, "no room", {}))

    # -- time

    @rule(seconds=st.sampled_from([0, 6, 41, 61, 301]), sweeps=st.booleans())
    def wait(self, seconds: int, sweeps: bool) -> None:  # noqa: FBT001 - drawn
        self.run(self.db.advance(seconds))
        if sweeps:
            self.run(self.here.sweep())

    @invariant()
    def the_rules_hold(self) -> None:
        # What is broken is told here, and not once more by the teardown.
        ground, self.ground = self.ground, None
        if ground is not None:
            self.run(ground.check())
        self.ground = ground

    def teardown(self) -> None:
        if self.ground is not None:
            self.run(self.ground.agree())

    # -- how

    def _command(self, pick: int, among: str, work: Callable[[Transaction, UUID], Awaitable[object]]) -> None:
        self.run(self.here.command(pick, among, work))

    def _attempt(self, work: Callable[[Transaction], Awaitable[object]]) -> None:
        async def attempt() -> None:
            with suppress(LocktenderError):
                await self.here.transact(work)

        self.run(attempt())
