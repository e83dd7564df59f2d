"""The insert of deployment tasks: many at once, each with its first event and its command."""

from dataclasses import dataclass
from uuid import UUID

from sqlalchemy import ARRAY, Boolean, Uuid, and_, case, func, or_, select
from sqlalchemy.dialects.postgresql import insert

from locktender.contracts.deployments.events import CREATED
from locktender.contracts.deployments.flow import DEPLOYMENT_TASK, REDEPLOYABLE, TaskPhase
from locktender.contracts.kernel.subjects import DEPLOYMENT_COMMAND_PREFIX
from locktender.storage.deployments.tables import DEPLOYMENTS, deployment_task
from locktender.storage.kernel.clock import db_now
from locktender.storage.kernel.events import event_rows, outbox_commands, outbox_events, outbox_rows
from locktender.storage.kernel.fencing import in_states
from locktender.storage.kernel.guarded import unnested
from locktender.storage.kernel.statement import Statement, constant, parameter

_GIVEN = (
    "id", "workspace", "project", "namespace", "server", "display_name", "created_by", "created_from", "runner",
    "source", "timeline", "custodian", "predecessor_id", "idempotency_key", "request_digest",
)  # fmt: skip
_DECIDES = ("inherit",)
_FOR_THE_EVENT = ("message", "payload", "actor", "trace")


@dataclass(frozen=True, slots=True)
class NewTask:
    """A task to be created. `source`, `timeline`, `payload` and `trace` are JSON texts and hold no secret.

    `inherit`: the identity of the predecessor goes over to the new task.
    """

    id: UUID
    workspace: str
    project: str
    namespace: str | None
    server: str | None
    display_name: str
    created_by: str
    created_from: str
    runner: str
    source: str
    timeline: str
    custodian: str | None
    idempotency_key: str | None
    request_digest: bytes
    message: str
    payload: str
    trace: str
    actor: str = "api"
    predecessor_id: UUID | None = None
    inherit: bool = False

    def columns(self) -> dict[str, object]:
        """The arguments of the insert."""
        return {name: getattr(self, name) for name in CREATE_COLUMNS}


CREATE_COLUMNS = (*_GIVEN, *_DECIDES, *_FOR_THE_EVENT)


def _create() -> Statement:
    table, events = deployment_task, DEPLOYMENTS.events
    types = {name: table.c[name].type for name in _GIVEN} | {
        "message": events.c.message.type,
        "payload": events.c.payload.type,
        "actor": events.c.actor.type,
        "trace": events.c.payload.type,
        "inherit": Boolean(),
    }
    rows = unnested("input", types)
    # Locked, so that a predecessor is neither removed nor anything else while its identity goes over.
    before = table.alias("before")
    predecessor = (
        select(before.c.id, before.c.workspace, before.c.identity)
        .where(
            before.c.id == func.any(parameter("predecessor_id", ARRAY(Uuid()))),
            in_states(before.c.status, REDEPLOYABLE),
        )
        .order_by(before.c.id)
        .with_for_update(read=True)
        .cte("predecessor")
    )
    fixed = {
        "status": constant(DEPLOYMENT_TASK.initial.value),
        "phase": constant(TaskPhase.QUEUED.value),
        "hinted_at": db_now(),
    }
    identity = case((rows.c.inherit, predecessor.c.identity))
    source = (
        select(*[rows.c[name] for name in _GIVEN], *fixed.values(), identity)
        .outerjoin(
            predecessor,
            and_(predecessor.c.id == rows.c.predecessor_id, predecessor.c.workspace == rows.c.workspace),
        )
        .where(or_(rows.c.predecessor_id.is_(None), predecessor.c.id.is_not(None)))
        .order_by(rows.c.id)
    )
    made = (
        insert(table)
        .from_select([*_GIVEN, *fixed, "identity"], source)
        .on_conflict_do_nothing(
            index_elements=["workspace", "created_by", "idempotency_key"],
            index_where=table.c.idempotency_key.is_not(None),
        )
        .returning(
            table.c.id, table.c.workspace, table.c.project, table.c.phase, table.c.status, table.c.lease_epoch,
            table.c.revision, table.c.runner, table.c.created_at,
        )
        .cte("made")
    )  # fmt: skip
    moved = select(made, *[rows.c[name] for name in _FOR_THE_EVENT]).join(rows, rows.c.id == made.c.id).cte("moved")
    subject = constant(DEPLOYMENT_COMMAND_PREFIX).concat(moved.c.runner)
    return Statement(
        "deployment_task.create",
        select(moved)
        .add_cte(event_rows(DEPLOYMENTS, moved, CREATED, moved.c.actor))
        .add_cte(outbox_rows(outbox_events(DEPLOYMENTS, moved, CREATED), outbox_commands(moved, subject, CREATED))),
    )


CREATE = _create()
