"""Rows of deployments as what people are shown. Pure."""

import json
from typing import Any

from pydantic import TypeAdapter

from locktender.api.stacks.reading.endings import cancelled_as, ending_of
from locktender.api.stacks.reading.stages import stages_of
from locktender.api.stacks.reading.waits import ahead_of, waiting_of
from locktender.contracts.stacks.flow import DeploymentStatus, RunStatus
from locktender.contracts.stacks.models import SourceSpec
from locktender.contracts.stacks.patience import StackDeadlines
from locktender.contracts.stacks.presentation import DeploymentFacts, actions_of, display_of
from locktender.contracts.stacks.views import CommitView, DeploymentEntry, DeploymentView
from locktender.contracts.stacks.vocabulary import DeploymentMode, Origin, RunMode
from locktender.contracts.stacks.waiting import blocked_by, deadline_of
from locktender.contracts.stacks.wire import RunFailure
from locktender.storage.kernel.database import Row

SOURCES: TypeAdapter[SourceSpec] = TypeAdapter(SourceSpec)
_AS_STORED = (
    "id", "workspace", "stack_id", "number", "mode", "status", "origin", "note", "created_by", "prioritized_at",
    "prioritized_by", "skipped_reason", "cancel_requested_at", "cancel_requested_by", "waiting_since", "revision",
    "created_at", "started_at", "completed_at", "updated_at",
)  # fmt: skip


def entry(row: Row, deadlines: StackDeadlines) -> DeploymentEntry:
    """A deployment without its steps."""
    return DeploymentEntry(**_members(row, deadlines))


def deployment_view(row: Row, deadlines: StackDeadlines) -> DeploymentView:
    """A deployment with its steps."""
    return DeploymentView(
        **_members(row, deadlines),
        source=SOURCES.validate_json(row["source"]),
        stages=stages_of(row["stages"], row["decisions"], row["created_by"]),
    )


def facts_of(row: Row) -> DeploymentFacts:
    """What decides how a deployment is presented."""
    return DeploymentFacts(
        status=DeploymentStatus(row["status"]),
        mode=DeploymentMode(row["mode"]),
        origin=Origin(row["origin"]),
        prioritized=row["prioritized_at"] is not None,
        run=None if row["run_status"] is None else RunStatus(row["run_status"]),
        run_mode=None if row["run_mode"] is None else RunMode(row["run_mode"]),
    )


def _members(row: Row, deadlines: StackDeadlines) -> dict[str, Any]:
    failure = None if row["failure"] is None else RunFailure.model_validate_json(row["failure"])
    waits, facts = waiting_of(row), facts_of(row)
    deadline = deadline_of(
        waits, deadlines, queued_timeout=row["queued_timeout_seconds"],
        confirmation_timeout=row["confirmation_timeout_seconds"],
    )  # fmt: skip
    return {name: row[name] for name in _AS_STORED} | {
        "stack": row["stack_name"],
        "presentation": display_of(facts),
        "actions": actions_of(facts),
        "commit": _commit(row),
        "failure": failure,
        "blocked_by": blocked_by(waits, ahead_of(row)),
        "deadline_at": None if deadline is None else deadline.at,
        "deadline": None if deadline is None else deadline.words,
        "cancelled_ending": cancelled_as(row),
        "ending": ending_of(row, failure),
    }


def _commit(row: Row) -> CommitView:
    said: dict[str, Any] = json.loads(row["commit"])
    return CommitView(
        id=row["commit_sha"], subject=said.get("subject"), author=said.get("author"),
        authored_at=said.get("authoredAt"), ref=said.get("ref"), head=said.get("head"), dirty=said.get("dirty"),
    )  # fmt: skip
