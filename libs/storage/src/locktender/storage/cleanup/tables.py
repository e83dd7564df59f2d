"""Cleanup jobs: what has to go, under which generation it was seen, and who is at it."""

from sqlalchemy import BigInteger, CheckConstraint, Column, Index, Integer, Table, Text, Uuid, text
from sqlalchemy.dialects.postgresql import JSONB

from locktender.contracts.cleanup.flow import CLEANUP_JOB, JobKind, JobStatus
from locktender.storage.kernel.events import Aggregate
from locktender.storage.kernel.tables import lease_columns, machine_checks, metadata, quoted, stamp

cleanup_job = Table(
    "cleanup_job",
    metadata,
    Column("id", Uuid, primary_key=True, server_default=text("locktender.new_event_id()")),
    Column("kind", Text, nullable=False),
    Column("workspace", Text, nullable=False),
    Column("subject_id", Uuid, nullable=False),
    Column("generation", BigInteger, nullable=False),
    Column("status", Text, nullable=False, server_default=text(f"'{JobStatus.PENDING}'")),
    Column("revision", BigInteger, nullable=False, server_default=text("1")),
    *lease_columns(),
    Column("attempts", Integer, nullable=False, server_default=text("0")),
    stamp("next_attempt_at", required=True),
    stamp("hinted_at"),
    Column("outcome", JSONB),
    Column("last_error", Text),
    stamp("started_at"),
    stamp("completed_at"),
    stamp("created_at", required=True),
    stamp("updated_at", required=True),
    *machine_checks(CLEANUP_JOB),
    CheckConstraint(f"kind in ({quoted(JobKind)})", name="kind_known"),
)

Index("uq_cleanup_job_subject", cleanup_job.c.kind, cleanup_job.c.subject_id, unique=True)
Index(
    "ix_cleanup_job_due", cleanup_job.c.next_attempt_at,
    postgresql_where=cleanup_job.c.status == JobStatus.PENDING,
)  # fmt: skip
Index(
    "ix_cleanup_job_expiring", cleanup_job.c.lease_expires_at,
    postgresql_where=cleanup_job.c.status == JobStatus.RUNNING,
)  # fmt: skip
Index(
    "ix_cleanup_job_ended", cleanup_job.c.completed_at,
    postgresql_where=cleanup_job.c.status == JobStatus.DONE,
)  # fmt: skip

CLEANUP = Aggregate(name="cleanup_job", context="cleanup", table=cleanup_job, events=cleanup_job)
