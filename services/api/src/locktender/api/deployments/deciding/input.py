"""The use case of `POST …/input`."""

import asyncio
import json
from uuid import UUID

import structlog

from locktender.api.deployments.deciding.submitted import usable
from locktender.api.deployments.deciding.turns import Turns
from locktender.api.deployments.deploying.create import CUSTODY_MARGIN_SECONDS, Order
from locktender.api.deployments.examining.examined import access_of, custody_of
from locktender.api.deployments.reading.views import snapshot
from locktender.api.http.faults import validated
from locktender.api.http.problems import ProblemError
from locktender.api.templates.packages import Packages
from locktender.contracts.deployments.flow import SUBMIT_INPUT, TaskStatus
from locktender.contracts.deployments.inputs import Asked, SubmitInput
from locktender.contracts.deployments.models import RunnerKind, Snapshot
from locktender.contracts.deployments.policy import Deadlines
from locktender.contracts.kernel.errors import NotFound, Rejected, Unavailable, WrongState
from locktender.contracts.kernel.faults import FaultPoints
from locktender.contracts.kernel.problems import Problem
from locktender.runtime.bus import Bus
from locktender.runtime.custody import Custodian
from locktender.storage.deployments.reads import DeploymentReads, SnapshotRow
from locktender.storage.deployments.writes import DeploymentWrites, Told
from locktender.storage.kernel.database import OutcomeUnknown

_log = structlog.stdlib.get_logger(__name__)

_TRIES = 3
"""Writes of one submission, while the database goes away before it has answered."""


class SubmitInputs:
    """Hands values to tasks that wait for them. Only memory holds them; what is written is that they are there."""

    def __init__(
        self,
        *,
        writes: DeploymentWrites,
        reads: DeploymentReads,
        custodian: Custodian,
        custodian_name: str,
        packages: Packages,
        max_secret_bytes: int,
        deadlines: Deadlines,
        bus: Bus,
        faults: FaultPoints,
    ) -> None:
        self._writes = writes
        self._reads = reads
        self._custodian = custodian
        self._custodian_name = custodian_name
        self._packages = packages
        self._max_secret_bytes = max_secret_bytes
        self._deadlines = deadlines
        self._bus = bus
        self._faults = faults
        self._turns = Turns()

    async def __call__(self, order: Order, task_id: UUID, document: dict[str, object]) -> Snapshot:
        """The task once its inputs wait for a runner. Of two submitters one wins; the other changes nothing.

        Raises:
            Rejected: the request cannot be read, or a value cannot be used.
            NotFound: this workspace has no such task.
            ProblemError: it does not wait for inputs, or has them already; its snapshot comes along.
            Unavailable: no room in custody, or the database does not answer.
        """
        request, findings = validated(SubmitInput, document, scalars=("values",))
        row = await self._waiting(order.workspace, task_id)
        access = None
        if row.task.runner != RunnerKind.NOOP:
            access = access_of(document, findings, "go on")
        if request is None or findings:
            raise Rejected(findings)
        source = await self._reads.source(order.workspace, task_id)
        if source is None:
            raise NotFound("deployment task", task_id)
        asked = Asked.model_validate(row.task.asked)
        values = await usable(self._packages, source.source, asked, request.values)
        kubeconfig = "" if access is None or request.kubeconfig is None else request.kubeconfig.get_secret_value()
        secrets = custody_of(kubeconfig, {}, values, self._max_secret_bytes, "/values")
        await self._submit(order, task_id, secrets, sorted(values))
        self._bus.poke("outbox")
        return snapshot(await self._read(order.workspace, task_id), self._deadlines)

    async def _submit(self, order: Order, task_id: UUID, secrets: bytes, keys: list[str]) -> None:
        """Into custody, then onto the row. Whoever loses must not have touched what the winner left in custody."""
        facts = json.dumps({"inputKeys": keys, "redacted": True, "by": order.by})
        told = Told(f"{order.by} submitted inputs", facts, "api", json.dumps(order.trace))
        async with self._turns.of(task_id):
            before = await self._waiting(order.workspace, task_id)
            self._custodian.hold(task_id, secrets, self._deadlines.start + CUSTODY_MARGIN_SECONDS)
            try:
                await self._faults.reach("api.before-submit-input")
                await self._write(order, before, told, facts)
            except OutcomeUnknown:
                # It may still be written. Custody ends by its own time, if nobody asks.
                _log.warning("the outcome of a submission is unknown", task=str(task_id))
                raise Unavailable("the database went away; whether the inputs came in will show in the task") from None
            except WrongState:
                self._custodian.drop(task_id)
                await self._waiting(order.workspace, task_id)
                raise Unavailable("the task keeps moving") from None
            except asyncio.CancelledError:
                # The write goes on without its caller. Custody ends by its own time, if nobody asks.
                raise
            except BaseException:
                self._custodian.drop(task_id)
                raise
            await self._faults.reach("api.after-submit-input")

    async def _write(self, order: Order, before: SnapshotRow, told: Told, facts: str) -> None:
        doubtful = False
        for left in reversed(range(_TRIES)):
            try:
                await self._writes.submit_input(before.task.id, order.by, self._custodian_name, told)
            except OutcomeUnknown:
                doubtful = True
                if await self._has(order.workspace, before, facts):
                    return
                if not left:
                    raise
            except WrongState:
                # It may be that a write without an answer of this very submission has come through by now.
                if doubtful and await self._has(order.workspace, before, facts):
                    return
                raise
            else:
                return

    async def _has(self, workspace: str, before: SnapshotRow, facts: str) -> bool:
        """Whether the task has had these very inputs since `before`: the answer to a write whose own answer was lost.

        Raises:
            OutcomeUnknown: the database is still away.
        """
        try:
            now = await self._read(workspace, before.task.id)
        except Unavailable as error:
            raise OutcomeUnknown(str(error)) from None
        return any(
            event["kind"] == SUBMIT_INPUT.event
            and event["revision"] > before.task.revision
            and event["payload"] == json.loads(facts)
            for event in now.events
        )

    async def _waiting(self, workspace: str, task_id: UUID) -> SnapshotRow:
        row = await self._read(workspace, task_id)
        if row.task.status == TaskStatus.BLOCKED and row.task.resume_requested_at is None:
            return row
        if row.task.status == TaskStatus.BLOCKED:
            detail = "the inputs of this task came in already, and wait for a runner"
        else:
            detail = f"the task is {row.task.status}, and does not wait for inputs"
        current = snapshot(row, self._deadlines).model_dump_json(by_alias=True).encode()
        raise ProblemError(Problem.NOT_WAITING, detail, snapshot=current)

    async def _read(self, workspace: str, task_id: UUID) -> SnapshotRow:
        row = await self._reads.snapshot(workspace, task_id)
        if row is None:
            raise NotFound("deployment task", task_id)
        return row
