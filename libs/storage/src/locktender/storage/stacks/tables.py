"""The rows of the stacks context."""

from typing import Final

from sqlalchemy import (
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    Table,
    Text,
    Uuid,
    text,
)
from sqlalchemy.dialects.postgresql import JSONB

from locktender.contracts.kernel.machine import in_order
from locktender.contracts.stacks.flow import STACK_DEPLOYMENT, STACK_RUN, STACK_STAGE, DeploymentStatus, RunStatus
from locktender.contracts.stacks.vocabulary import (
    ActivityKind,
    AutoApproveMode,
    DeploymentMode,
    EngineChoice,
    Origin,
    RunMode,
    SkippedReason,
    StageKind,
)
from locktender.storage.kernel.clock import SCHEMA
from locktender.storage.kernel.events import Aggregate
from locktender.storage.kernel.tables import lease_columns, machine_checks, metadata, quoted, stamp

_NOTHING, _ZERO, _NO = text("'[]'"), text("0"), text("false")

stack = Table(
    "stack",
    metadata,
    Column("id", Uuid, primary_key=True),
    Column("workspace", Text, nullable=False),
    Column("project", Text, nullable=False),
    Column("name", Text, nullable=False),
    Column("description", Text, nullable=False, server_default=text("''")),
    Column("source", JSONB, nullable=False),
    Column("engine", Text, nullable=False),
    Column("runner_group", Text, nullable=False),
    Column("labels", JSONB, nullable=False, server_default=_NOTHING),
    Column("auto_approve", Text, nullable=False),
    Column("confirmation_timeout_seconds", Integer),
    Column("queued_timeout_seconds", Integer),
    Column("supersede_after_seconds", Integer),
    Column("git_token", LargeBinary),
    Column("revision", BigInteger, nullable=False, server_default=text("1")),
    Column("last_number", BigInteger, nullable=False, server_default=_ZERO),
    Column("lane_holder", Uuid),
    stamp("lane_taken_at"),
    stamp("uncertain_since"),
    Column("uncertain_run_id", Uuid),
    Column("state_version_id", Uuid),
    Column("state_lineage", Text),
    Column("state_serial", BigInteger),
    Column("state_lock", JSONB),
    Column("state_lock_run_id", Uuid),
    stamp("state_locked_at"),
    Column("latest_deployment_id", Uuid),
    Column("latest_deployment_number", BigInteger),
    Column("latest_deployment_mode", Text),
    Column("latest_deployment_status", Text),
    stamp("latest_deployment_created_at"),
    stamp("latest_deployment_completed_at"),
    Column("created_by", Text, nullable=False),
    stamp("created_at", required=True),
    stamp("updated_at", required=True),
    stamp("deleted_at"),
    CheckConstraint(f"engine in ({quoted(EngineChoice)})", name="engine_known"),
    CheckConstraint(f"auto_approve in ({quoted(AutoApproveMode)})", name="auto_approve_known"),
    CheckConstraint("(lane_holder is null) = (lane_taken_at is null)", name="lane_has_start"),
    CheckConstraint("(uncertain_since is null) = (uncertain_run_id is null)", name="uncertain_names_run"),
    CheckConstraint("(state_lock is null) = (state_locked_at is null)", name="lock_has_start"),
    CheckConstraint("(state_version_id is null) = (state_serial is null)", name="state_has_serial"),
    CheckConstraint(
        "confirmation_timeout_seconds > 0 and queued_timeout_seconds > 0 and supersede_after_seconds >= 0",
        name="policy_counts",
    ),
)
"""A stack. Its id is its incarnation: a name may be used again after a deletion, an id never is."""

_s = stack.c
_here = _s.deleted_at.is_(None)
Index("uq_stack_name", _s.workspace, _s.name, unique=True, postgresql_where=_here)
Index("ix_stack_listed", _s.workspace, _s.created_at.desc(), _s.id.desc(), postgresql_where=_here)
Index(
    "ix_stack_by_status", _s.workspace, _s.latest_deployment_status, _s.created_at.desc(), _s.id.desc(),
    postgresql_where=_here,
)  # fmt: skip
Index(
    "ix_stack_by_activity", _s.workspace, _s.latest_deployment_created_at.desc(), _s.id.desc(), postgresql_where=_here
)
Index("ix_stack_held", _s.lane_holder, postgresql_where=_s.lane_holder.is_not(None))

stack_variable = Table(
    "stack_variable",
    metadata,
    Column("stack_id", Uuid, ForeignKey(stack.c.id, ondelete="CASCADE"), primary_key=True),
    Column("kind", Text, primary_key=True),
    Column("name", Text, primary_key=True),
    Column("value", Text),
    Column("sealed", LargeBinary),
    Column("updated_by", Text, nullable=False),
    stamp("updated_at", required=True),
    CheckConstraint("kind in ('variable', 'environment', 'token', 'token-file')", name="kind_known"),
    CheckConstraint("(value is null) <> (sealed is null)", name="plain_or_sealed"),
)
"""What runs of a stack are given. A sensitive value is stored encrypted alone; of a token, its audience is stored."""

stack_deployment = Table(
    "stack_deployment",
    metadata,
    Column("id", Uuid, primary_key=True),
    Column("workspace", Text, nullable=False),
    Column("stack_id", Uuid, ForeignKey(stack.c.id), nullable=False),
    Column("number", BigInteger, nullable=False),
    Column("mode", Text, nullable=False),
    Column("status", Text, nullable=False, server_default=text(f"'{DeploymentStatus.QUEUED}'")),
    Column("origin", Text, nullable=False),
    Column("source", JSONB, nullable=False),
    Column("commit_sha", Text, nullable=False),
    Column("commit", JSONB, nullable=False),
    Column("raw_script", LargeBinary),
    Column("created_by", Text),
    Column("note", Text, nullable=False, server_default=text("''")),
    stamp("prioritized_at"),
    Column("prioritized_by", Text),
    Column("skipped_reason", Text),
    Column("failure", JSONB),
    stamp("cancel_requested_at"),
    Column("cancel_requested_by", Text),
    stamp("waiting_since"),
    Column("revision", BigInteger, nullable=False, server_default=text("1")),
    Column("idempotency_key", Text),
    Column("request_digest", LargeBinary, nullable=False),
    stamp("started_at"),
    stamp("completed_at"),
    stamp("created_at", required=True),
    stamp("updated_at", required=True),
    *machine_checks(STACK_DEPLOYMENT),
    CheckConstraint(f"mode in ({quoted(DeploymentMode)})", name="mode_known"),
    CheckConstraint(f"origin in ({quoted(Origin)})", name="origin_known"),
    CheckConstraint(f"skipped_reason in ({quoted(SkippedReason)})", name="skipped_reason_known"),
    CheckConstraint("(skipped_reason is not null) <= (status = 'skipped')", name="reason_only_skipped"),
    CheckConstraint("(origin = 'local') <= (mode = 'plan_unlocked')", name="local_only_looks"),
    CheckConstraint("(raw_script is not null) = (mode = 'raw')", name="script_iff_raw"),
    CheckConstraint("(status = 'failed') <= (failure is not null)", name="failed_has_reason"),
    CheckConstraint("(status = 'waiting') = (waiting_since is not null)", name="waiting_has_start"),
    CheckConstraint("revision > 0", name="revision_counts_up"),
)

_d = stack_deployment.c
_active = _d.status.in_(in_order(STACK_DEPLOYMENT.active))
_queued = _d.status == DeploymentStatus.QUEUED
Index("uq_stack_deployment_number", _d.stack_id, _d.number, unique=True)
Index("ix_stack_deployment_active", _d.stack_id, _d.created_at, _d.id, postgresql_where=_active)
Index(
    "ix_stack_deployment_lane", _d.stack_id, _d.prioritized_at, _d.created_at, _d.id,
    postgresql_where=_queued & (_d.mode != DeploymentMode.PLAN_UNLOCKED),
)  # fmt: skip
Index(
    "ix_stack_deployment_queue", _d.workspace, _d.prioritized_at, _d.created_at, _d.id,
    postgresql_where=_d.status.in_([DeploymentStatus.QUEUED, DeploymentStatus.PENDING]),
)  # fmt: skip
Index("ix_stack_deployment_waiting", _d.waiting_since, postgresql_where=_d.status == DeploymentStatus.WAITING)
Index("ix_stack_deployment_ageing", _d.created_at, postgresql_where=_queued)
Index("ix_stack_deployment_listed", _d.stack_id, _d.created_at.desc(), _d.id.desc())
Index("ix_stack_deployment_commit", _d.stack_id, _d.commit_sha, _d.created_at.desc())
Index(
    "uq_stack_deployment_idempotency", _d.workspace, _d.created_by, _d.idempotency_key,
    unique=True, postgresql_where=_d.idempotency_key.is_not(None),
)  # fmt: skip

stack_event = Table(
    "stack_event",
    metadata,
    Column("deployment_id", Uuid, ForeignKey(stack_deployment.c.id, ondelete="CASCADE"), primary_key=True),
    Column("revision", BigInteger, primary_key=True),
    Column("kind", Text, nullable=False),
    Column("status", Text, nullable=False),
    Column("actor", Text, nullable=False),
    Column("message", Text, nullable=False),
    Column("payload", JSONB, nullable=False),
    stamp("created_at", required=True),
)
"""What happened to a deployment, one row a revision. For machines; what people did is in `stack_activity`."""

STACKS = Aggregate(
    name="stack_deployment",
    context="stacks",
    table=stack_deployment,
    events=stack_event,
    facts=("stack_id", "number", "mode"),
    subject="deployment_id",
)

stack_activity = Table(
    "stack_activity",
    metadata,
    Column("id", Uuid, primary_key=True, server_default=text(f"{SCHEMA}.new_event_id()")),
    Column("deployment_id", Uuid, ForeignKey(stack_deployment.c.id, ondelete="CASCADE"), nullable=False),
    Column("kind", Text, nullable=False),
    Column("actor", Text),
    Column("stage_id", Uuid),
    Column("details", JSONB, nullable=False, server_default=text("'{}'")),
    Column("transaction", Text, nullable=False, server_default=text("(pg_current_xact_id())::text")),
    stamp("created_at", required=True),
    CheckConstraint(f"kind in ({quoted(ActivityKind)})", name="kind_known"),
    CheckConstraint(
        f"actor is not null or kind in ({quoted(k for k in ActivityKind if k.may_lack_actor)})", name="somebody_did_it"
    ),
)
"""Who did what to a deployment. One act a transaction, at most: the order by time is then an order."""

Index("uq_stack_activity_act", stack_activity.c.deployment_id, stack_activity.c.transaction, unique=True)
Index("ix_stack_activity_trail", stack_activity.c.deployment_id, stack_activity.c.created_at, stack_activity.c.id)

stack_stage = Table(
    "stack_stage",
    metadata,
    Column("id", Uuid, primary_key=True),
    Column("deployment_id", Uuid, ForeignKey(stack_deployment.c.id, ondelete="CASCADE"), nullable=False),
    Column("ordinal", Integer, nullable=False),
    Column("kind", Text, nullable=False),
    Column("status", Text, nullable=False, server_default=text("'waiting'")),
    Column("run_id", Uuid),
    stamp("completed_at"),
    stamp("created_at", required=True),
    stamp("updated_at", required=True),
    *machine_checks(STACK_STAGE),
    CheckConstraint(f"kind in ({quoted(StageKind)})", name="kind_known"),
    CheckConstraint("(kind = 'confirmation') = (run_id is null)", name="confirmation_has_no_run"),
)
"""A step of a deployment. `status` is what people are shown as its phase."""

_g = stack_stage.c
Index("uq_stack_stage_ordinal", _g.deployment_id, _g.ordinal, unique=True)
Index(
    "uq_stack_stage_open", _g.deployment_id,
    unique=True, postgresql_where=_g.status.in_(in_order(STACK_STAGE.active)),
)  # fmt: skip

stack_run = Table(
    "stack_run",
    metadata,
    Column("id", Uuid, primary_key=True),
    Column("workspace", Text, nullable=False),
    Column("stack_id", Uuid, ForeignKey(stack.c.id), nullable=False),
    Column("deployment_id", Uuid, ForeignKey(stack_deployment.c.id, ondelete="CASCADE"), nullable=False),
    Column("mode", Text, nullable=False),
    Column("status", Text, nullable=False, server_default=text(f"'{RunStatus.QUEUED}'")),
    Column("runner_group", Text, nullable=False),
    Column("labels", JSONB, nullable=False, server_default=_NOTHING),
    Column("state_locked", Boolean, nullable=False),
    *(Column(name, JSONB, nullable=False, server_default=_NOTHING) for name in ("targets", "excludes", "replaces")),
    Column("plan_run_id", Uuid),
    stamp("prioritized_at"),
    stamp("first_pending_at"),
    stamp("hinted_at"),
    stamp("assigned_expires_at"),
    Column("assignment_attempts", Integer, nullable=False, server_default=_ZERO),
    Column("assigned_runner_id", Uuid),
    Column("remote", Boolean, nullable=False, server_default=_NO),
    *lease_columns(),
    Column("lease_seconds", Integer),
    Column("token_hash", LargeBinary),
    Column("tool", Text),
    Column("tool_version", Text),
    Column("summary", JSONB),
    Column("has_changes", Boolean),
    Column("binding", JSONB),
    Column("analysed", Boolean, nullable=False, server_default=_NO),
    Column("log_end", BigInteger, nullable=False, server_default=_ZERO),
    Column("log_cut", Boolean, nullable=False, server_default=_NO),
    Column("exit_code", Integer),
    Column("cancellation_reason", Text),
    Column("failure", JSONB),
    stamp("plan_removed_at"),
    stamp("artifacts_removed_at"),
    stamp("started_at"),
    stamp("completed_at"),
    stamp("created_at", required=True),
    stamp("updated_at", required=True),
    *machine_checks(STACK_RUN),
    CheckConstraint(f"mode in ({quoted(RunMode)})", name="mode_known"),
    CheckConstraint("targets = '[]' or excludes = '[]'", name="targets_or_excludes"),
    CheckConstraint("(mode = 'apply') = (plan_run_id is not null)", name="apply_names_plan"),
    CheckConstraint("(status = 'assigned') <= (assigned_expires_at is not null)", name="assigned_has_deadline"),
    CheckConstraint("(lease_owner is null) <= (token_hash is null)", name="token_needs_lease"),
    CheckConstraint("(lease_owner is null) = (lease_seconds is null)", name="lease_has_length"),
)

_r = stack_run.c
_open_run = _r.status.in_(in_order(STACK_RUN.active))
Index("ix_stack_run_of_deployment", _r.deployment_id, _r.created_at)
Index("uq_stack_run_open", _r.deployment_id, unique=True, postgresql_where=_open_run)
Index(
    "uq_stack_run_lane", _r.stack_id,
    unique=True,
    postgresql_where=_r.state_locked & _r.status.in_(in_order(STACK_RUN.active - {RunStatus.QUEUED})),
)  # fmt: skip
Index(
    "ix_stack_run_pending", _r.runner_group, _r.prioritized_at, _r.created_at, _r.id,
    postgresql_where=_r.status == RunStatus.PENDING,
)  # fmt: skip
Index("ix_stack_run_hinted", _r.hinted_at, postgresql_where=_r.status == RunStatus.PENDING)
Index(
    "ix_stack_run_starting", _r.first_pending_at,
    postgresql_where=_r.status.in_([RunStatus.PENDING, RunStatus.ASSIGNED]),
)  # fmt: skip
Index("ix_stack_run_assigned", _r.assigned_expires_at, postgresql_where=_r.status == RunStatus.ASSIGNED)
Index("ix_stack_run_expiring", _r.lease_expires_at, postgresql_where=_r.status.in_(in_order(STACK_RUN.leased)))
Index("ix_stack_run_analysed", _r.stack_id, _r.completed_at.desc(), postgresql_where=_r.analysed)
_ended_run = _r.status.in_(in_order(STACK_RUN.terminal))
_plans = _r.mode.in_([mode.value for mode in RunMode if mode.is_plan_style])
Index("ix_stack_run_planned", _r.created_at, _r.id, postgresql_where=_r.plan_removed_at.is_(None) & _plans & _ended_run)
Index("ix_stack_run_recorded", _r.created_at, _r.id, postgresql_where=_r.artifacts_removed_at.is_(None) & _ended_run)

RUN_FINAL: Final = tuple(each.name for each in _r if each.name not in {"plan_removed_at", "artifacts_removed_at"})
"""What stays as it is once a run has ended. That its files were removed is noted later."""

RUNS = Aggregate(name="stack_run", context="stacks", table=stack_run, events=stack_event, subject="deployment_id")
"""Runs tell nothing themselves: what happens to one is told by its deployment, in the same transaction."""

stack_state = Table(
    "stack_state",
    metadata,
    Column("id", Uuid, primary_key=True),
    Column("stack_id", Uuid, ForeignKey(stack.c.id), nullable=False),
    Column("serial", BigInteger, nullable=False),
    Column("lineage", Text, nullable=False),
    Column("object_key", Text, nullable=False),
    Column("sha256", Text, nullable=False),
    Column("size", BigInteger, nullable=False),
    Column("origin", Text, nullable=False),
    Column("run_id", Uuid),
    Column("epoch", BigInteger),
    Column("created_by", Text, nullable=False),
    stamp("created_at", required=True),
    CheckConstraint("origin in ('run', 'import', 'rollback', 'push')", name="origin_known"),
    CheckConstraint("(run_id is null) = (epoch is null)", name="run_has_epoch"),
)
"""Every version of a state. The bytes are in the object store, encrypted."""

Index("ix_stack_state_versions", stack_state.c.stack_id, stack_state.c.created_at.desc(), stack_state.c.id.desc())
