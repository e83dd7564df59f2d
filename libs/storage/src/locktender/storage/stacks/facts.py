"""The columns from which people are told what a deployment waits for: of itself, its newest run, who is ahead."""

from typing import Any, Final

from sqlalchemy import ColumnElement, FromClause, Lateral, and_, select, true
from sqlalchemy.sql.selectable import NamedFromClause

from locktender.storage.stacks.pool_tables import stack_runner_group
from locktender.storage.stacks.tables import stack, stack_deployment, stack_run

_r = stack_run.c
_RUN: Final = (
    "id", "status", "mode", "runner_group", "labels", "first_pending_at", "assigned_expires_at", "lease_claimed_at",
    "started_at", "cancellation_reason", "has_changes", "prioritized_at", "created_at",
)  # fmt: skip
_DEPLOYMENT: Final = ("id", "number", "mode", "status", "created_at", "waiting_since", "cancel_requested_at")
_SECRET: Final = frozenset({"raw_script", "request_digest", "idempotency_key", "source"})

holder: Final = stack_deployment.alias("holder")
"""The deployment that holds the lane of the stack."""


class RunFacts:
    """The newest run of a deployment, and whether there is a group that can take it. Labels begin with `prefix`."""

    def __init__(self, prefix: str, deployment: FromClause) -> None:
        newest = (
            select(*[_r[name] for name in ("workspace", *_RUN)])
            .where(_r.deployment_id == deployment.c.id)
            .order_by(_r.created_at.desc(), _r.id.desc())
            .limit(1)
        )
        self.run: Lateral = newest.lateral(f"{prefix}_newest")
        self._group: NamedFromClause = stack_runner_group.alias(f"{prefix}_group")
        self.columns: list[ColumnElement[Any]] = [
            *[self.run.c[name].label(f"{prefix}_{name}") for name in _RUN],
            self._group.c.labels.label(f"{prefix}_group_labels"),
        ]

    def joined(self, source: FromClause) -> FromClause:
        """`source`, which holds the deployment, with the run and its group, as far as there are any."""
        serves = and_(self._group.c.workspace == self.run.c.workspace, self._group.c.name == self.run.c.runner_group)
        return source.outerjoin(self.run, true()).outerjoin(self._group, serves)


OWN: Final = RunFacts("run", stack_deployment)
_AHEAD: Final = RunFacts("holder_run", holder)

AHEAD_COLUMNS: Final = [*[holder.c[name].label(f"holder_{name}") for name in _DEPLOYMENT], *_AHEAD.columns]
ENTRY_COLUMNS: Final = [
    *[column for column in stack_deployment.c if column.name not in _SECRET],
    stack.c.name.label("stack_name"),
    stack.c.queued_timeout_seconds,
    stack.c.confirmation_timeout_seconds,
    *OWN.columns,
    *AHEAD_COLUMNS,
]
"""A deployment without its source and without what is secret."""


def with_ahead(source: FromClause) -> FromClause:
    """`source`, which holds the stack, with the holder of its lane."""
    return _AHEAD.joined(source.outerjoin(holder, holder.c.id == stack.c.lane_holder))


def entries() -> FromClause:
    """Deployments with all that `ENTRY_COLUMNS` need."""
    return with_ahead(OWN.joined(stack_deployment.join(stack, stack.c.id == stack_deployment.c.stack_id)))
