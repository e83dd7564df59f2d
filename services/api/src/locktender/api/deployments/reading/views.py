"""Stored rows as what callers are shown. Pure."""

import json
from collections.abc import Sequence

from locktender.contracts.deployments.flow import TaskPhase, TaskStatus
from locktender.contracts.deployments.inputs import Asked
from locktender.contracts.deployments.models import EventView, Failure, Snapshot, TaskView, Timeline
from locktender.contracts.deployments.policy import Deadlines, Waiting, blocked_by, deadline_at, settled
from locktender.contracts.deployments.presentation import Facts, present
from locktender.storage.deployments.reads import SnapshotRow, TaskRow
from locktender.storage.kernel.database import Row


def task_view(row: TaskRow, deadlines: Deadlines) -> TaskView:
    """A task, with what it waits for and until when."""
    status, phase = TaskStatus(row.status), TaskPhase(row.phase)
    waiting = Waiting(
        status, phase, row.runner, row.created_at, row.lease_claimed_at, row.cancel_requested_at, row.wait_until,
        row.resume_requested_at,
    )  # fmt: skip
    shown = present(Facts(status, row.cancel_requested_at is not None, row.resume_requested_at is not None))
    return TaskView(
        id=row.id,
        workspace=row.workspace,
        project=row.project,
        namespace=row.namespace,
        server=row.server,
        display_name=row.display_name,
        runner=row.runner,
        status=status,
        phase=phase,
        presentation=shown.state,
        actions=shown.actions,
        epoch=row.lease_epoch,
        revision=row.revision,
        created_by=row.created_by,
        created_from=row.created_from,
        predecessor_id=row.predecessor_id,
        superseded_by=row.superseded_by,
        instance=row.instance,
        asked=Asked.model_validate(row.asked) if status is TaskStatus.BLOCKED else None,
        resume_requested_at=row.resume_requested_at,
        resume_requested_by=row.resume_requested_by,
        cancel_requested_at=row.cancel_requested_at,
        cancel_requested_by=row.cancel_requested_by,
        failure=None if row.failure is None else Failure.model_validate(row.failure),
        started_at=row.started_at,
        completed_at=row.completed_at,
        created_at=row.created_at,
        updated_at=row.updated_at,
        blocked_by=blocked_by(waiting),
        deadline_at=deadline_at(waiting, deadlines),
    )


def snapshot(row: SnapshotRow, deadlines: Deadlines) -> Snapshot:
    """A task with its timeline and its latest events."""
    timeline = Timeline.model_validate_json(row.timeline)
    return Snapshot(
        task=task_view(row.task, deadlines),
        timeline=settled(timeline, TaskStatus(row.task.status)),
        events=tuple(EventView.model_validate(event) for event in row.events),
    )


def events(rows: Sequence[Row]) -> tuple[EventView, ...]:
    """Events as rows of their own."""
    return tuple(event_view(row) for row in rows)


def event_view(row: Row) -> EventView:
    """One event."""
    names = ("revision", "kind", "status", "epoch", "actor", "message", "created_at")
    return EventView.model_validate({name: row[name] for name in names} | {"payload": json.loads(row["payload"])})
