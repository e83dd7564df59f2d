"""Tasks as the list of their project shows them, and the marks by which a change that nobody told is noticed."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from sqlalchemy import ARRAY, BigInteger, Text, Uuid, case, cast, func, select, true
from sqlalchemy.dialects.postgresql import TIMESTAMP

from locktender.storage.deployments.reads import SUPERSEDED_BY
from locktender.storage.deployments.tables import deployment_task
from locktender.storage.kernel.clock import db_now
from locktender.storage.kernel.database import Database
from locktender.storage.kernel.guarded import unnested
from locktender.storage.kernel.statement import Statement, constant, parameter

NEWEST = 100
"""Tasks in the list of a project, at most: the newest."""

_t = deployment_task.c
_COLUMNS = (
    _t.id, _t.workspace, _t.project, _t.display_name, _t.runner, _t.status, _t.phase, _t.revision, _t.predecessor_id,
    SUPERSEDED_BY.label("superseded_by"), _t.cancel_requested_at, _t.resume_requested_at, _t.completed_at,
    _t.created_at, _t.updated_at, _t.timeline, _t.canvas,
    _t.identity.op("->>", return_type=Text())(constant("instance")).label("instance"),
    # The source may be large, and only that of a template holds a word that is shown.
    case(
        (_t.runner == constant("template"), _t.source.op("->>", return_type=Text())(constant("template")))
    ).label("template"),
    db_now().label("read_at"),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class ProjectionRow:
    """A task as its project lists it. `timeline` and `canvas` are JSON texts; `read_at` is the database's clock."""

    id: UUID
    workspace: str
    project: str
    display_name: str
    runner: str
    status: str
    phase: str
    revision: int
    predecessor_id: UUID | None
    superseded_by: UUID | None
    cancel_requested_at: datetime | None
    resume_requested_at: datetime | None
    completed_at: datetime | None
    created_at: datetime
    updated_at: datetime
    timeline: str
    canvas: str | None
    instance: str | None
    template: str | None
    read_at: datetime


@dataclass(frozen=True, slots=True)
class ProjectMark:
    """What a project's list looks like from afar. Two lists that differ have different marks.

    Attributes:
        count: how many tasks are in the list.
        revisions: the sum of their revisions.
        oldest: when the last in the list was made.
        newest: when the first in the list was made.
        read_at: the moment of the look, by the database's clock. It is no part of the comparison.
    """

    count: int
    revisions: int
    oldest: datetime | None
    newest: datetime | None
    read_at: datetime


_NEWEST = Statement(
    "deployment_task.projections",
    select(*_COLUMNS)
    .where(_t.workspace == parameter("workspace", Text()), _t.project == parameter("project", Text()))
    .order_by(_t.created_at.desc(), _t.id.desc())
    .limit(NEWEST),
)
_ONE = Statement(
    "deployment_task.projection",
    select(*_COLUMNS).where(_t.id == parameter("id", Uuid()), _t.workspace == parameter("workspace", Text())),
)
_REVISIONS = Statement(
    "deployment_task.revisions", select(_t.id, _t.revision).where(_t.id == func.any(parameter("id", ARRAY(Uuid()))))
)


def _marks() -> Statement:
    asked = unnested("asked", {"workspace": Text(), "project": Text()})
    listed = (
        select(_t.revision, _t.created_at)
        .where(_t.workspace == asked.c.workspace, _t.project == asked.c.project)
        .order_by(_t.created_at.desc(), _t.id.desc())
        .limit(NEWEST)
        .correlate(asked)
        .lateral("listed")
    )
    # Over no rows at all these are null, and the count is zero: a project without tasks has a mark, too.
    mark = select(
        func.count().label("count"),
        cast(func.coalesce(func.sum(listed.c.revision), constant(0)), BigInteger).label("revisions"),
        func.min(listed.c.created_at, type_=TIMESTAMP(timezone=True)).label("oldest"),
        func.max(listed.c.created_at, type_=TIMESTAMP(timezone=True)).label("newest"),
    ).select_from(listed).correlate(asked).lateral("mark")  # fmt: skip
    query = select(asked.c.workspace, asked.c.project, *mark.c, db_now().label("read_at"))
    return Statement("deployment_task.marks", query.select_from(asked.join(mark, true())))


_MARKS = _marks()


class ProjectionReads:
    """Questions about the tasks of projects. Each answer is one statement: one moment. Nothing is ever written."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def newest(self, workspace: str, project: str) -> list[ProjectionRow]:
        """The newest tasks of a project, newest first."""
        rows = await self._database.fetch(_NEWEST, workspace=workspace, project=project)
        return [ProjectionRow(**row) for row in rows]

    async def one(self, workspace: str, task_id: UUID) -> ProjectionRow | None:
        """One task; None when this workspace has no such task."""
        row = await self._database.fetch_one(_ONE, id=task_id, workspace=workspace)
        return None if row is None else ProjectionRow(**row)

    async def revisions(self, ids: Iterable[UUID]) -> dict[UUID, int]:
        """The revision of each task that is there. For whoever knows the ids: workspaces are not looked at."""
        rows = await self._database.fetch(_REVISIONS, id=list(ids))
        return {row["id"]: row["revision"] for row in rows}

    async def marks(self, projects: Iterable[tuple[str, str]]) -> dict[tuple[str, str], ProjectMark]:
        """The mark of each of these projects, given as workspace and name."""
        wanted = list(projects)
        names = {"workspace": [each[0] for each in wanted], "project": [each[1] for each in wanted]}
        rows = await self._database.fetch(_MARKS, **names)
        return {
            (row["workspace"], row["project"]): ProjectMark(
                row["count"], row["revisions"], row["oldest"], row["newest"], row["read_at"]
            )
            for row in rows
        }
