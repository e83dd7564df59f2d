"""I06: nothing is left behind. Whoever is not over has a live lease, or waits for something with a deadline."""

from typing import Any

from sqlalchemy import ColumnElement, Select, Text, and_, cast, func, select
from sqlalchemy.sql.schema import Table

from locktender.contracts.cleanup.flow import CLEANUP_JOB
from locktender.contracts.deployments.flow import DEPLOYMENT_TASK, TaskStatus
from locktender.storage.cleanup.tables import cleanup_job
from locktender.storage.deployments.tables import deployment_task
from locktender.storage.kernel.fencing import in_states
from locktender.storage.kernel.statement import constant
from locktender.storage.verify.check import check, overdue

_t, _j = deployment_task.c, cleanup_job.c
_live = in_states(_t.status, DEPLOYMENT_TASK.leased)


def _left(table: Table, since: ColumnElement[Any], left: ColumnElement[bool]) -> Select[*tuple[Any, ...]]:
    detail = func.concat(table.c.status, constant(", since "), since).label("detail")
    return select(cast(table.c.id, Text).label("subject"), detail).where(left).order_by(since)


CHECKS = (
    check(
        "I06", "its lease has passed and nobody took it from the holder",
        _left(deployment_task, _t.lease_expires_at, and_(_live, overdue(_t.lease_expires_at, "sweep"))),
    ),
    check(
        "I06", "the run is longer than it may be",
        _left(deployment_task, _t.lease_claimed_at, and_(_live, overdue(_t.lease_claimed_at, "run"))),
    ),
    check(
        "I06", "a cancel was never confirmed",
        _left(deployment_task, _t.cancel_requested_at, and_(_live, overdue(_t.cancel_requested_at, "cancel_ack"))),
    ),
    check(
        "I06", "no runner took it in time",
        _left(
            deployment_task, _t.created_at,
            and_(_t.status == constant(TaskStatus.QUEUED.value), overdue(_t.created_at, "start")),
        ),
    ),
    check(
        "I06", "its inputs were submitted, and neither a runner nor the reaper took them",
        _left(
            deployment_task, _t.resume_requested_at,
            and_(_t.resume_requested_at.is_not(None), overdue(_t.resume_requested_at, "start")),
        ),
    ),
    check(
        "I06", "the lease of the cleanup job has passed and nobody took it from the holder",
        _left(
            cleanup_job, _j.lease_expires_at,
            and_(in_states(_j.status, CLEANUP_JOB.leased), overdue(_j.lease_expires_at, "sweep")),
        ),
    ),
)  # fmt: skip
"""The ways in which a row can be left behind."""
