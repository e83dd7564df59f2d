"""The rows of the deployments context."""

from sqlalchemy import (
    BigInteger,
    CheckConstraint,
    Column,
    ForeignKey,
    Index,
    LargeBinary,
    Table,
    Text,
    Uuid,
    text,
)
from sqlalchemy.dialects.postgresql import JSONB

from locktender.contracts.deployments.flow import DEPLOYMENT_TASK, TaskPhase, TaskStatus
from locktender.contracts.kernel.machine import in_order
from locktender.storage.kernel.events import Aggregate
from locktender.storage.kernel.tables import lease_columns, machine_checks, metadata, quoted, stamp

deployment_task = Table(
    "deployment_task",
    metadata,
    Column("id", Uuid, primary_key=True),
    Column("workspace", Text, nullable=False),
    Column("project", Text, nullable=False),
    Column("namespace", Text),
    Column("server", Text),
    Column("display_name", Text, nullable=False),
    Column("created_by", Text, nullable=False),
    Column("created_from", Text, nullable=False),
    Column("runner", Text, nullable=False),
    Column("source", JSONB, nullable=False),
    Column("status", Text, nullable=False),
    Column("phase", Text, nullable=False),
    Column("timeline", JSONB, nullable=False),
    Column("failure", JSONB),
    Column("revision", BigInteger, nullable=False, server_default=text("1")),
    Column("custodian", Text),
    stamp("hinted_at"),
    stamp("cancel_requested_at"),
    Column("cancel_requested_by", Text),
    *lease_columns(),
    Column("predecessor_id", Uuid),
    Column("identity", JSONB),
    Column("asked", JSONB),
    stamp("resume_requested_at"),
    Column("resume_requested_by", Text),
    Column("canvas", JSONB),
    Column("idempotency_key", Text),
    Column("request_digest", LargeBinary, nullable=False),
    stamp("started_at"),
    stamp("completed_at"),
    stamp("created_at", required=True),
    stamp("updated_at", required=True),
    *machine_checks(DEPLOYMENT_TASK),
    CheckConstraint(f"phase in ({quoted(TaskPhase)})", name="phase_known"),
    CheckConstraint("(status = 'failed') <= (failure is not null)", name="failed_has_reason"),
    CheckConstraint("revision > 0", name="revision_counts_up"),
    CheckConstraint("(status = 'blocked') <= (asked is not null)", name="blocked_asks"),
    CheckConstraint("(resume_requested_at is not null) <= (status = 'blocked')", name="resume_only_blocked"),
)

_t = deployment_task.c
_live = _t.status.in_(in_order(DEPLOYMENT_TASK.leased))
_over = _t.status.in_(in_order(DEPLOYMENT_TASK.terminal))
_waiting = _t.status == TaskStatus.QUEUED

Index("ix_deployment_task_expiring", _t.lease_expires_at, postgresql_where=_live)
Index("ix_deployment_task_overrunning", _t.lease_claimed_at, postgresql_where=_live)
Index(
    "ix_deployment_task_cancelling",
    _t.cancel_requested_at,
    postgresql_where=_live & _t.cancel_requested_at.is_not(None),
)
Index("ix_deployment_task_queued", _t.created_at, postgresql_where=_waiting)
Index("ix_deployment_task_hinted", _t.hinted_at, postgresql_where=_waiting)
Index("ix_deployment_task_resuming", _t.resume_requested_at, postgresql_where=_t.resume_requested_at.is_not(None))
Index("ix_deployment_task_ended", _t.completed_at, postgresql_where=_over)
Index("ix_deployment_task_listed", _t.workspace, _t.created_at.desc(), _t.id.desc())
Index("ix_deployment_task_in_project", _t.workspace, _t.project, _t.created_at.desc(), _t.id.desc())
Index(
    "uq_deployment_task_idempotency", _t.workspace, _t.created_by, _t.idempotency_key,
    unique=True, postgresql_where=_t.idempotency_key.is_not(None),
)  # fmt: skip
Index(
    "uq_deployment_task_active_successor", _t.workspace, _t.predecessor_id,
    unique=True,
    postgresql_where=_t.predecessor_id.is_not(None) & _t.status.in_(in_order(DEPLOYMENT_TASK.active)),
)  # fmt: skip

Index(
    "ix_deployment_task_successors", _t.workspace, _t.predecessor_id, _t.created_at.desc(),
    postgresql_where=_t.predecessor_id.is_not(None),
)  # fmt: skip

deployment_event = Table(
    "deployment_event",
    metadata,
    Column("task_id", Uuid, ForeignKey(deployment_task.c.id, ondelete="CASCADE"), primary_key=True),
    Column("revision", BigInteger, primary_key=True),
    Column("kind", Text, nullable=False),
    Column("status", Text, nullable=False),
    Column("epoch", BigInteger, nullable=False),
    Column("actor", Text, nullable=False),
    Column("message", Text, nullable=False),
    Column("payload", JSONB, nullable=False),
    stamp("created_at", required=True),
)

DEPLOYMENTS = Aggregate(
    name="deployment_task",
    context="deployments",
    table=deployment_task,
    events=deployment_event,
    facts=("project", "phase"),
)

deployment_plan = Table(
    "deployment_plan",
    metadata,
    Column("task_id", Uuid, ForeignKey(deployment_task.c.id, ondelete="CASCADE"), primary_key=True),
    Column("epoch", BigInteger, nullable=False),
    Column("plan", JSONB, nullable=False),
    stamp("recorded_at", required=True),
)
"""What the latest run of a task was going to do. Apart from the task's row, which is written many times."""
