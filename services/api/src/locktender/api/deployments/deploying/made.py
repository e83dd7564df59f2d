"""What was made a moment ago, as callers are shown it and as its first event tells it. Pure."""

from datetime import datetime

from locktender.api.deployments.examining.examined import Examined
from locktender.api.deployments.reading.views import task_view
from locktender.contracts.deployments.events import CREATED
from locktender.contracts.deployments.flow import TaskPhase, TaskStatus
from locktender.contracts.deployments.models import EventView, Snapshot
from locktender.contracts.deployments.policy import Deadlines
from locktender.storage.deployments.create import NewTask
from locktender.storage.deployments.reads import TaskRow


def snapshot_of_new(task: NewTask, examined: Examined, created_at: datetime, deadlines: Deadlines) -> Snapshot:
    """What `snapshot` would show of a task that was just inserted, without reading it."""
    row = TaskRow(
        id=task.id,
        workspace=task.workspace,
        project=task.project,
        namespace=task.namespace,
        server=task.server,
        display_name=task.display_name,
        runner=task.runner,
        status=TaskStatus.QUEUED,
        phase=TaskPhase.QUEUED,
        lease_epoch=0,
        revision=1,
        created_by=task.created_by,
        created_from=task.created_from,
        cancel_requested_at=None,
        cancel_requested_by=None,
        failure=None,
        lease_claimed_at=None,
        started_at=None,
        completed_at=None,
        created_at=created_at,
        updated_at=created_at,
        predecessor_id=task.predecessor_id,
    )
    created = EventView(
        revision=1,
        kind=CREATED,
        status=TaskStatus.QUEUED,
        epoch=0,
        actor=task.actor,
        message=task.message,
        payload=created_payload(task.created_by, examined),
        created_at=created_at,
    )
    return Snapshot(task=task_view(row, deadlines), timeline=examined.timeline, events=(created,))


def created_payload(by: str, examined: Examined) -> dict[str, object]:
    """The facts of the first event; how the documents are applied is among them, because somebody decided it."""
    facts: dict[str, object] = {"by": by} | examined.facts
    if examined.redeploys is not None:
        facts |= {
            "predecessor": str(examined.redeploys.predecessor),
            "edited": examined.redeploys.edited,
            "inherits": examined.redeploys.inherits,
        }
    if examined.apply is not None:
        facts["apply"] = examined.apply.model_dump(mode="json", by_alias=True)
    return facts


def created_message(by: str, examined: Examined) -> str:
    """The first event in words."""
    words = [f"asked for by {by}: {examined.words} into project {examined.place.project}"]
    if examined.redeploys is not None:
        how = "with changes" if examined.redeploys.edited else "as it was"
        words.append(f"redeploys {examined.redeploys.predecessor} {how}")
    if examined.apply is not None and examined.apply.force:
        words.append("fields are taken over from others")
    if examined.apply is not None and examined.apply.replace:
        words.append(f"objects may be replaced: {', '.join(examined.apply.replace)}")
    return "; ".join(words)
