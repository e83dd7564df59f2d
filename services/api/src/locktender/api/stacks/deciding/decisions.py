"""The use cases of people who decide on a deployment: confirm, plan again, skip, cancel, put first."""

from collections.abc import Awaitable, Callable
from functools import partial
from uuid import UUID

import structlog

from locktender.api.stacks.deciding import satisfied
from locktender.api.stacks.deciding.admission import Target
from locktender.api.stacks.deciding.audit import audit
from locktender.api.stacks.deciding.conflicts import NotCancellable, Snapshots, conflict
from locktender.api.stacks.runs.variables import open_variables, variables_digest
from locktender.contracts.kernel import subjects
from locktender.contracts.kernel.errors import Unavailable
from locktender.contracts.stacks.flow import STACK_RUN, DeploymentStatus, RunStatus
from locktender.contracts.stacks.policy import CancelShape
from locktender.contracts.stacks.views import DeploymentView
from locktender.contracts.stacks.wire import Narrowing
from locktender.integrations.objects.cipher import Cipher
from locktender.runtime.bus import Bus
from locktender.storage.kernel.database import Database, OutcomeUnknown, Transaction
from locktender.storage.stacks.cancel import request_cancel
from locktender.storage.stacks.confirm import confirm_apply, confirm_replan, confirm_skip
from locktender.storage.stacks.held import held_deployment
from locktender.storage.stacks.prioritize import deprioritize, prioritize
from locktender.storage.stacks.refusals import CommandRefused
from locktender.storage.stacks.run_context import variables_of
from locktender.storage.stacks.skip import skip

_log = structlog.stdlib.get_logger(__name__)

TellEnded = Callable[[UUID], Awaitable[None]]
"""Wakes whoever follows the log of a run that has ended. May be lost."""
Satisfied = Callable[[DeploymentView], bool]
Work = Callable[[Transaction], Awaitable[bool]]
"""A command as a transaction; whether it changed anything."""


class Decisions:
    """Each is one transaction, which decides; then the lane, the runner and the audit are told.

    What is already as it was wanted is answered and changes nothing. What cannot become so any more is a
    `ProblemError` with the snapshot. `NotFound` is raised where the deployment is gone, and `Unavailable` where the
    outcome is not known: asking again is safe.
    """

    def __init__(
        self,
        *,
        database: Database,
        cipher: Cipher,
        digest_key: bytes,
        snapshots: Snapshots,
        bus: Bus,
        tell_ended: TellEnded,
    ) -> None:
        self._database = database
        self._cipher = cipher
        self._digest_key = digest_key
        self._snapshots = snapshots
        self._bus = bus
        self._tell_ended = tell_ended

    async def confirm(self, target: Target, plan_digest: str) -> DeploymentView:
        """Apply exactly the plan of this digest.

        The variables are compared as they were a moment ago; the runner compares them again before it applies.
        """
        rows = await variables_of(self._database, target.stack_id)
        digest = variables_digest(self._digest_key, open_variables(self._cipher, target.stack_id, rows))

        async def work(tx: Transaction) -> bool:
            await confirm_apply(
                tx, target.deployment_id, target.by, plan_digest=plan_digest, variables_digest=digest,
                trace=target.trace,
            )  # fmt: skip
            return True

        wanted = partial(satisfied.confirmed, plan_digest=plan_digest)
        return await self._decide(target, work, wanted, "confirmed_apply")

    async def replan(self, target: Target, narrowing: Narrowing) -> DeploymentView:
        """Plan once more, differently."""

        async def work(tx: Transaction) -> bool:
            await confirm_replan(tx, target.deployment_id, target.by, narrowing=narrowing, trace=target.trace)
            return True

        wanted = partial(satisfied.replanned, narrowing=narrowing)
        return await self._decide(target, work, wanted, "confirmed_replan")

    async def skip(self, target: Target) -> DeploymentView:
        """Leave it: the plan that waits for a confirmation, or all of it where nothing has begun."""

        async def work(tx: Transaction) -> bool:
            _, deployment = await held_deployment(tx, target.deployment_id)
            waits = deployment["status"] == DeploymentStatus.WAITING
            await (confirm_skip if waits else skip)(tx, target.deployment_id, target.by, target.trace)
            return True

        return await self._decide(target, work, satisfied.skipped, "skipped")

    async def cancel(self, target: Target) -> DeploymentView:
        """Stop it: at once where no runner has it, by asking the runner where one does."""

        async def work(tx: Transaction) -> bool:
            shape, row = await request_cancel(tx, target.deployment_id, target.by, target.trace)
            if shape is CancelShape.OVER and row["status"] in {DeploymentStatus.FINISHED, DeploymentStatus.FAILED}:
                detail = f"The deployment is {row['status']}; what has ended cannot be cancelled."
                raise NotCancellable(target.deployment_id, detail)
            return shape not in {CancelShape.ALREADY, CancelShape.OVER}

        view = await self._decide(target, work, satisfied.stopped, "cancellation_requested")
        await self._tell_runner(view)
        return view

    async def prioritize(self, target: Target) -> DeploymentView:
        """Put it before all that are not prioritized. It keeps the place that it has."""

        async def work(tx: Transaction) -> bool:
            await prioritize(tx, target.deployment_id, target.by, target.trace)
            return True

        return await self._decide(target, work, satisfied.prioritized, None)

    async def deprioritize(self, target: Target) -> DeploymentView:
        """Let its age count again."""

        async def work(tx: Transaction) -> bool:
            await deprioritize(tx, target.deployment_id, target.by, target.trace)
            return True

        return await self._decide(target, work, satisfied.deprioritized, None)

    async def _decide(self, target: Target, work: Work, wanted: Satisfied, audited: str | None) -> DeploymentView:
        try:
            changed = await self._database.transact(work)
        except CommandRefused as refused:
            current = await self._current(target)
            # A place in the queue is of no use to what has ended, so for that the refusal stands.
            if audited is not None and wanted(current):
                return current
            raise conflict(refused, current) from refused
        except OutcomeUnknown:
            # It was most likely our own write that landed, and only its answer got lost.
            if not wanted(await self._current(target)):
                raise
            changed = True
        current = await self._current(target)
        if changed:
            self._bus.poke("outbox")
            if audited is not None:
                audit(
                    audited, actor=target.by, workspace=target.workspace, stack=target.stack, deployment=target.number
                )
            await self._tell_readers(current)
        return current

    async def _current(self, target: Target) -> DeploymentView:
        return await self._snapshots(target.workspace, target.stack, target.number)

    async def _tell_readers(self, view: DeploymentView) -> None:
        """Whoever follows the log of a run that this decision has ended need not wait for their next look."""
        last = view.stages[-1].run if view.stages else None
        if last is not None and last.status in STACK_RUN.terminal:
            await self._tell_ended(last.id)

    async def _tell_runner(self, view: DeploymentView) -> None:
        """Save a runner its poll. The row is what counts, so nothing here may fail the cancel."""
        for stage in view.stages:
            if stage.run is None or stage.run.status is not RunStatus.REQUESTED_CANCELLATION:
                continue
            try:
                await self._bus.publish(subjects.cancel(stage.run.id), b"")
            except Unavailable as error:
                _log.warning("a cancel was recorded and could not be told", run=str(stage.run.id), reason=str(error))
