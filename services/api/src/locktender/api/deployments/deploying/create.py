"""The use case of `POST …/deployment-tasks`."""

import asyncio
import json
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

import structlog

from locktender.api.deployments.deploying.lineage import Lineage
from locktender.api.deployments.deploying.made import created_message, created_payload, snapshot_of_new
from locktender.api.deployments.examining.examined import Before, Examined
from locktender.api.deployments.examining.examiner import Examiner
from locktender.api.deployments.reading.views import snapshot
from locktender.api.http.idempotency import NO_DIGEST, Digests
from locktender.api.http.problems import ProblemError
from locktender.contracts.deployments.models import Snapshot
from locktender.contracts.deployments.policy import Deadlines
from locktender.contracts.kernel.errors import Conflict, NotFound, Unavailable
from locktender.contracts.kernel.faults import FaultPoints
from locktender.contracts.kernel.ids import new_id
from locktender.contracts.kernel.problems import Problem
from locktender.runtime.bus import Bus
from locktender.runtime.custody import Custodian
from locktender.storage.deployments.create import NewTask
from locktender.storage.deployments.reads import DeploymentReads
from locktender.storage.deployments.writes import ACTIVE_SUCCESSOR, DeploymentWrites
from locktender.storage.kernel.database import OutcomeUnknown

_log = structlog.stdlib.get_logger(__name__)

CUSTODY_MARGIN_SECONDS = 60.0
"""A runner may claim at the very end of the start deadline, and asks only then."""

_TRIES = 4
"""Inserts of one redeploy, while others that redeploy the same task come and go."""


@dataclass(frozen=True, slots=True)
class Order:
    """Who asks for a deployment, and how. `trace` holds the headers of the trace it belongs to."""

    workspace: str
    by: str
    client: str
    key: str | None
    trace: dict[str, str]


@dataclass(frozen=True, slots=True)
class Created:
    """The answer: the task as it is, and whether this request made it."""

    snapshot: Snapshot
    fresh: bool


class CreateDeployment:
    """Accepts deployments: credentials into custody first, then one insert; nothing is ever half-created."""

    def __init__(
        self,
        *,
        writes: DeploymentWrites,
        reads: DeploymentReads,
        custodian: Custodian,
        custodian_name: str,
        examiner: Examiner,
        lineage: Lineage,
        digests: Digests,
        deadlines: Deadlines,
        bus: Bus,
        faults: FaultPoints,
    ) -> None:
        self._writes = writes
        self._reads = reads
        self._custodian = custodian
        self._custodian_name = custodian_name
        self._examiner = examiner
        self._lineage = lineage
        self._digests = digests
        self._deadlines = deadlines
        self._bus = bus
        self._faults = faults

    async def __call__(self, order: Order, document: dict[str, object]) -> Created:
        """Make the task that `document` asks for, or find the one that the same request made before.

        Raises:
            Rejected: the request cannot be accepted.
            NotFound: its predecessor does not exist, or not any more.
            ProblemError: the idempotency key belongs to another request, or the predecessor cannot be redeployed.
            Unavailable: no room in custody, or the database does not answer. With an idempotency key, asking again is
                always safe.
        """
        task_id = new_id()

        async def predecessor(before: UUID) -> Before:
            return await self._lineage.predecessor(order.workspace, before)

        try:
            examined = await self._examiner.examine(document, task_id, predecessor)
        except NotFound as gone:
            return await self._made_before(order, gone)
        task = self._new_task(task_id, order, examined)
        if examined.secrets is not None:
            self._custodian.hold(task.id, examined.secrets, self._deadlines.start + CUSTODY_MARGIN_SECONDS)
        try:
            await self._faults.reach("api.before-insert")
            created_at = await self._insert(task)
        except OutcomeUnknown:
            return await self._after_unknown(order, task)
        except asyncio.CancelledError:
            # The insert goes on without its caller, and its run will ask. Custody ends by its own time otherwise.
            raise
        except BaseException:
            self._custodian.drop(task.id)
            raise
        if created_at is None:
            self._custodian.drop(task.id)
            return await self._not_made(order, task)
        await self._faults.reach("api.after-insert")
        self._bus.poke("outbox")
        return Created(await self._as_made(task, examined, created_at), fresh=True)

    async def _insert(self, task: NewTask) -> datetime | None:
        """When the task was made, as `DeploymentWrites.create` says. Of two that redeploy one task, one gets through.

        The other is told of the winner. If that has ended by then, the way is free again.
        """
        for _ in range(_TRIES):
            try:
                return await self._writes.create(task)
            except Conflict as conflict:
                if conflict.rule != ACTIVE_SUCCESSOR or task.predecessor_id is None:
                    raise
                await self._lineage.refuse_second(task.workspace, task.predecessor_id)
        raise Unavailable("others redeploy the same task again and again")

    async def _as_made(self, task: NewTask, examined: Examined, created_at: datetime) -> Snapshot:
        """What was made. A redeploy has what only its row tells, such as the name that it inherits."""
        row = None if task.predecessor_id is None else await self._reads.snapshot(task.workspace, task.id)
        if row is not None:
            return snapshot(row, self._deadlines)
        return snapshot_of_new(task, examined, created_at, self._deadlines)

    def _new_task(self, task_id: UUID, order: Order, examined: Examined) -> NewTask:
        redeploys = examined.redeploys
        return NewTask(
            id=task_id,
            workspace=order.workspace,
            project=examined.place.project,
            namespace=examined.place.namespace,
            server=examined.place.server,
            display_name=examined.display_name,
            created_by=order.by,
            created_from=order.client,
            runner=examined.runner.value,
            source=examined.source,
            timeline=examined.timeline_text,
            custodian=None if examined.secrets is None else self._custodian_name,
            idempotency_key=order.key,
            request_digest=NO_DIGEST if order.key is None else self._digest(examined),
            message=created_message(order.by, examined),
            payload=json.dumps(created_payload(order.by, examined)),
            trace=json.dumps(order.trace),
            predecessor_id=None if redeploys is None else redeploys.predecessor,
            inherit=redeploys is not None and redeploys.inherits,
        )

    def _digest(self, examined: Examined) -> bytes:
        before = None if examined.redeploys is None else str(examined.redeploys.predecessor)
        public = json.dumps([examined.compared, before])
        return self._digests.make(public.encode(), examined.secrets or b"")

    async def _after_unknown(self, order: Order, task: NewTask) -> Created:
        """The connection broke during the insert: whether it happened is on the row, or the answer is to ask again.

        Custody is kept, since the insert may still commit; its time limit ends it otherwise.
        """
        found = await self._reads.snapshot(order.workspace, task.id)
        if found is not None:
            self._bus.poke("outbox")
            return Created(snapshot(found, self._deadlines), fresh=True)
        if order.key is not None:
            with suppress(_StillUnknown):
                return await self._known(order, task)
        _log.warning("the outcome of an insert is unknown", task=str(task.id))
        raise Unavailable("the database went away; whether the task was created will show in the list")

    async def _made_before(self, order: Order, gone: NotFound) -> Created:
        """The task of a repeated request whose predecessor was removed meanwhile; else `gone` is the truth."""
        known = None if order.key is None else await self._reads.known_request(order.workspace, order.by, order.key)
        found = None if known is None else await self._reads.snapshot(order.workspace, known.id)
        if found is None or found.task.predecessor_id != gone.key:
            raise gone
        return Created(snapshot(found, self._deadlines), fresh=False)

    async def _not_made(self, order: Order, task: NewTask) -> Created:
        """The task that the idempotency key belongs to; or else the predecessor was removed a moment ago."""
        try:
            return await self._known(order, task)
        except _StillUnknown:
            if task.predecessor_id is not None:
                await self._lineage.predecessor(order.workspace, task.predecessor_id)
            raise

    async def _known(self, order: Order, task: NewTask) -> Created:
        known = None if order.key is None else await self._reads.known_request(order.workspace, order.by, order.key)
        if known is None:
            raise _StillUnknown("the task of this idempotency key was removed a moment ago")
        found = await self._reads.snapshot(order.workspace, known.id)
        if found is None:
            raise _StillUnknown("the task of this idempotency key was removed a moment ago")
        current = snapshot(found, self._deadlines)
        if not self._digests.same(known.digest, task.request_digest):
            raise ProblemError(
                Problem.IDEMPOTENCY_MISMATCH,
                "this Idempotency-Key made another task, whose snapshot is here; use a new key for a new request",
                snapshot=current.model_dump_json(by_alias=True).encode(),
            )
        return Created(current, fresh=False)


class _StillUnknown(Unavailable):
    """The key was taken, and its task is not there."""


def task_path(workspace: str, task_id: UUID) -> str:
    """The address of a task."""
    return f"/v1/workspaces/{workspace}/deployment-tasks/{task_id}"
