"""The tables of remote runners: their groups, and those that have registered."""

from sqlalchemy import CheckConstraint, Column, ForeignKey, Index, Integer, LargeBinary, Table, Text, Uuid, text
from sqlalchemy.dialects.postgresql import JSONB

from locktender.storage.kernel.tables import metadata, stamp

stack_runner_group = Table(
    "stack_runner_group",
    metadata,
    Column("id", Uuid, primary_key=True),
    Column("workspace", Text, nullable=False),
    Column("name", Text, nullable=False),
    Column("labels", JSONB, nullable=False, server_default=text("'[]'")),
    Column("token_hash", LargeBinary, nullable=False),
    Column("old_token_hash", LargeBinary),
    stamp("old_token_until"),
    Column("capacity", Integer, nullable=False),
    Column("last_dispatch_error", JSONB),
    Column("created_by", Text, nullable=False),
    stamp("created_at", required=True),
    stamp("updated_at", required=True),
    CheckConstraint("capacity > 0", name="capacity_counts"),
    CheckConstraint("name <> 'default'", name="default_is_ours"),
)
"""A pool of remote runners. The group `default` is our runner service, and has no row."""

Index("uq_stack_runner_group_name", stack_runner_group.c.workspace, stack_runner_group.c.name, unique=True)
Index("uq_stack_runner_group_token", stack_runner_group.c.token_hash, unique=True)
Index(
    "uq_stack_runner_group_old_token", stack_runner_group.c.old_token_hash,
    unique=True, postgresql_where=stack_runner_group.c.old_token_hash.is_not(None),
)  # fmt: skip

stack_runner = Table(
    "stack_runner",
    metadata,
    Column("id", Uuid, primary_key=True),
    Column("group_id", Uuid, ForeignKey(stack_runner_group.c.id, ondelete="CASCADE"), nullable=False),
    Column("name", Text, nullable=False),
    Column("status", Text, nullable=False),
    Column("run_id", Uuid),
    Column("assignment_hash", LargeBinary),
    stamp("last_seen_at", required=True),
    stamp("created_at", required=True),
    CheckConstraint("status in ('not-ready', 'ready')", name="status_known"),
)
"""A remote runner. `not-ready`: a stub, made when a run was promised to it, until it takes the run over."""

Index("ix_stack_runner_of_group", stack_runner.c.group_id, stack_runner.c.created_at)
Index("ix_stack_runner_seen", stack_runner.c.last_seen_at)
Index("uq_stack_runner_run", stack_runner.c.run_id, unique=True, postgresql_where=stack_runner.c.run_id.is_not(None))
