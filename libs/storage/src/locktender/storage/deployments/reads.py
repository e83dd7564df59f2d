"""What the deployments context can be asked. Reads never write, and each answer is one statement: one moment."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import (
    ARRAY,
    BigInteger,
    DateTime,
    Select,
    Text,
    Uuid,
    cast,
    func,
    select,
    tuple_,
)
from sqlalchemy.dialects.postgresql import aggregate_order_by

from locktender.contracts.deployments.flow import DEPLOYMENT_TASK
from locktender.storage.deployments.plans import read_plan
from locktender.storage.deployments.tables import deployment_event, deployment_task
from locktender.storage.kernel.database import Database, Row
from locktender.storage.kernel.fencing import in_states
from locktender.storage.kernel.statement import Statement, constant, parameter

EVENTS = 200
"""Events in a snapshot, at most: the latest."""

_t, _e = deployment_task.c, deployment_event.c
_after = deployment_task.alias("successor")
SUPERSEDED_BY = (
    select(_after.c.id)
    .where(_after.c.workspace == _t.workspace, _after.c.predecessor_id == _t.id)
    .order_by(_after.c.created_at.desc())
    .limit(1)
    .correlate(deployment_task)
    .scalar_subquery()
)
_SUMMARY = (
    _t.id, _t.workspace, _t.project, _t.namespace, _t.server, _t.display_name, _t.runner, _t.status, _t.phase,
    _t.lease_epoch, _t.revision, _t.created_by, _t.created_from, _t.cancel_requested_at, _t.cancel_requested_by,
    _t.failure, _t.lease_claimed_at, _t.started_at, _t.completed_at, _t.created_at, _t.updated_at,
    _t.timeline.op("->>", return_type=Text())(constant("waitUntil")).label("wait_until"),
    _t.predecessor_id, SUPERSEDED_BY.label("superseded_by"),
    _t.identity.op("->>", return_type=Text())(constant("instance")).label("instance"),
    _t.asked, _t.resume_requested_at, _t.resume_requested_by,
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class TaskRow:
    """A stored task, without its source and its timeline."""

    id: UUID
    workspace: str
    project: str
    namespace: str | None
    server: str | None
    display_name: str
    runner: str
    status: str
    phase: str
    lease_epoch: int
    revision: int
    created_by: str
    created_from: str
    cancel_requested_at: datetime | None
    cancel_requested_by: str | None
    failure: dict[str, Any] | None
    lease_claimed_at: datetime | None
    started_at: datetime | None
    completed_at: datetime | None
    created_at: datetime
    updated_at: datetime
    wait_until: datetime | None = None
    predecessor_id: UUID | None = None
    superseded_by: UUID | None = None
    instance: str | None = None
    asked: dict[str, Any] | None = None
    resume_requested_at: datetime | None = None
    resume_requested_by: str | None = None


@dataclass(frozen=True, slots=True)
class SourceRow:
    """What a task was asked to deploy, and where. `source` is JSON text without any secret."""

    id: UUID
    status: str
    project: str
    namespace: str | None
    server: str | None
    display_name: str
    runner: str
    source: str
    revision: int


@dataclass(frozen=True, slots=True)
class SnapshotRow:
    """A task with its timeline (JSON text) and its latest events, oldest first, read at one moment."""

    task: TaskRow
    timeline: str
    events: list[dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Position:
    """The keyset position after which a page starts; pages run from the newest task to the oldest."""

    created_at: datetime
    id: UUID


@dataclass(frozen=True, slots=True)
class KnownRequest:
    """The task that an idempotency key belongs to, and the digest of the request that made it."""

    id: UUID
    digest: bytes


def _events_of_task() -> Any:
    latest = (
        select(_e.revision, _e.kind, _e.status, _e.epoch, _e.actor, _e.message, _e.payload, _e.created_at)
        .where(_e.task_id == _t.id)
        .order_by(_e.revision.desc())
        .limit(EVENTS)
        .correlate(deployment_task)
        .subquery("latest")
    )
    told = func.jsonb_build_object(
        constant("revision"), latest.c.revision, constant("kind"), latest.c.kind,
        constant("status"), latest.c.status, constant("epoch"), latest.c.epoch,
        constant("actor"), latest.c.actor, constant("message"), latest.c.message,
        constant("payload"), latest.c.payload, constant("createdAt"), latest.c.created_at,
    )  # fmt: skip
    return select(func.jsonb_agg(aggregate_order_by(told, latest.c.revision))).select_from(latest).scalar_subquery()


def _list(*, project: bool, cursor: bool) -> Select[*tuple[Any, ...]]:
    query = select(*_SUMMARY).where(
        _t.workspace == parameter("workspace", Text()),
        _t.status == func.any(parameter("statuses", ARRAY(Text()))),
    )
    if project:
        query = query.where(_t.project == parameter("project", Text()))
    if cursor:
        after = tuple_(parameter("after_at", DateTime(timezone=True)), parameter("after_id", Uuid()))
        query = query.where(tuple_(_t.created_at, _t.id) < after)
    return query.order_by(_t.created_at.desc(), _t.id.desc()).limit(parameter("limit", BigInteger()))


_SNAPSHOT = Statement(
    "deployment_task.snapshot",
    select(*_SUMMARY, _t.timeline, _events_of_task().label("events")).where(
        _t.id == parameter("id", Uuid()), _t.workspace == parameter("workspace", Text())
    ),
)
_LISTS = {
    (project, cursor): Statement("deployment_task.list", _list(project=project, cursor=cursor))
    for project in (False, True)
    for cursor in (False, True)
}
_BY_KEY = Statement(
    "deployment_task.by_key",
    select(_t.id, _t.request_digest).where(
        _t.workspace == parameter("workspace", Text()),
        _t.created_by == parameter("created_by", Text()),
        _t.idempotency_key == parameter("idempotency_key", Text()),
    ),
)
_SOURCE = Statement(
    "deployment_task.source",
    select(*[_t[each.name] for each in fields(SourceRow)]).where(
        _t.id == parameter("id", Uuid()), _t.workspace == parameter("workspace", Text())
    ),
)
_SUCCESSOR = Statement(
    "deployment_task.successor",
    select(_t.id).where(
        _t.workspace == parameter("workspace", Text()),
        _t.predecessor_id == parameter("id", Uuid()),
        in_states(_t.status, DEPLOYMENT_TASK.active),
    ),
)
_CUSTODY = Statement(
    "deployment_task.custody",
    select(_t.workspace).where(
        _t.id == parameter("id", Uuid()),
        _t.lease_epoch == parameter("epoch", BigInteger()),
        _t.custodian == parameter("custodian", Text()),
        in_states(_t.status, DEPLOYMENT_TASK.leased),
    ),
)
_EVENTS = Statement(
    "deployment_event.after",
    select(_e.revision, _e.kind, _e.status, _e.epoch, _e.actor, _e.message, cast(_e.payload, Text), _e.created_at)
    .join(deployment_task, _t.id == _e.task_id)
    .where(
        _t.id == parameter("id", Uuid()),
        _t.workspace == parameter("workspace", Text()),
        _e.revision > parameter("after", BigInteger()),
    )
    .order_by(_e.revision)
    .limit(parameter("limit", BigInteger())),
)


class DeploymentReads:
    """Questions about deployment tasks. A workspace only ever sees its own rows."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def snapshot(self, workspace: str, task_id: UUID) -> SnapshotRow | None:
        """The task, its timeline and up to 200 events, or None when this workspace has no such task."""
        row = await self._database.fetch_one(_SNAPSHOT, id=task_id, workspace=workspace)
        if row is None:
            return None
        return SnapshotRow(_task(row), row["timeline"], json.loads(row["events"] or "[]"))

    async def plan(self, workspace: str, task_id: UUID) -> str | None:
        """What the task's latest run was going to do, as JSON text; None without such a task or such a plan."""
        return await read_plan(self._database, workspace, task_id)

    async def page(
        self,
        workspace: str,
        *,
        statuses: Iterable[str],
        limit: int,
        project: str | None = None,
        after: Position | None = None,
    ) -> list[TaskRow]:
        """At most `limit` tasks, newest first, from after the position."""
        values: dict[str, object] = {"workspace": workspace, "statuses": list(statuses), "limit": limit}
        if project is not None:
            values["project"] = project
        if after is not None:
            values |= {"after_at": after.created_at, "after_id": after.id}
        rows = await self._database.fetch(_LISTS[project is not None, after is not None], **values)
        return [_task(row) for row in rows]

    async def source(self, workspace: str, task_id: UUID) -> SourceRow | None:
        """What a task deploys, and where; None when this workspace has no such task."""
        row = await self._database.fetch_one(_SOURCE, id=task_id, workspace=workspace)
        return None if row is None else SourceRow(**row)

    async def active_successor(self, workspace: str, task_id: UUID) -> UUID | None:
        """The task that redeploys this one at the moment."""
        row = await self._database.fetch_one(_SUCCESSOR, id=task_id, workspace=workspace)
        return None if row is None else row["id"]

    async def known_request(self, workspace: str, created_by: str, key: str) -> KnownRequest | None:
        """Which request used this idempotency key before."""
        row = await self._database.fetch_one(_BY_KEY, workspace=workspace, created_by=created_by, idempotency_key=key)
        return None if row is None else KnownRequest(row["id"], row["request_digest"])

    async def custody_workspace(self, task_id: UUID, epoch: int, custodian: str) -> str | None:
        """The task's workspace, if exactly this epoch is live and exactly this instance holds its credentials."""
        row = await self._database.fetch_one(_CUSTODY, id=task_id, epoch=epoch, custodian=custodian)
        return None if row is None else row["workspace"]

    async def events(self, workspace: str, task_id: UUID, *, after: int, limit: int) -> Sequence[Row]:
        """Events above a revision, oldest first."""
        return await self._database.fetch(_EVENTS, id=task_id, workspace=workspace, after=after, limit=limit)


def _task(row: Row) -> TaskRow:
    values = {column.name: row[column.name] for column in _SUMMARY}
    for name in ("failure", "asked"):
        values[name] = None if row[name] is None else json.loads(row[name])
    values["wait_until"] = None if row["wait_until"] is None else datetime.fromisoformat(row["wait_until"])
    return TaskRow(**values)
