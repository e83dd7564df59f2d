"""What waits in a workspace, with place, reason and blocker. Pure."""

import json
from collections import Counter
from collections.abc import Sequence
from uuid import UUID

from locktender.api.stacks.reading.waits import ahead_of, waiting_of
from locktender.contracts.stacks.flow import DeploymentStatus
from locktender.contracts.stacks.queue import GroupLoad, QueueEntry, QueueLayer, QueueView
from locktender.contracts.stacks.views import StackBlocker
from locktender.contracts.stacks.waiting import blocked_by
from locktender.storage.kernel.database import Row

_AS_STORED = (
    "number", "mode", "status", "created_by", "prioritized_at", "prioritized_by", "created_at", "stack_id",
)  # fmt: skip


def queue_view(rows: Sequence[Row], groups: Sequence[Row], limit: int) -> QueueView:
    """At most `limit` of the rows, which come in the order in which they are served."""
    behind: Counter[UUID] = Counter()
    loads = {row["name"]: _load(row) for row in groups}
    shown: list[QueueEntry] = []
    for row in rows[:limit]:
        layer = QueueLayer.LANE if row["status"] == DeploymentStatus.QUEUED else QueueLayer.RUNNER
        if layer is QueueLayer.LANE:
            behind[row["stack_id"]] += 1
        blocker = blocked_by(waiting_of(row), ahead_of(row))
        if blocker is not None:
            place = behind[row["stack_id"]] if layer is QueueLayer.LANE else row["place"]
            shown.append(_entry(row, layer, place, blocker, loads.get(row["run_runner_group"])))
    return QueueView(entries=tuple(shown), truncated=len(rows) > limit, groups=tuple(loads.values()))


def _entry(row: Row, layer: QueueLayer, place: int | None, blocker: StackBlocker, load: GroupLoad | None) -> QueueEntry:
    return QueueEntry(
        **{name: row[name] for name in _AS_STORED},
        deployment_id=row["id"],
        stack=row["stack_name"],
        layer=layer,
        position=place,
        reason=_reason(blocker, layer, load),
        blocked_by=blocker,
        runner_group=row["run_runner_group"],
        labels=tuple(json.loads(row["run_labels"])),
    )


def _reason(blocker: StackBlocker, layer: QueueLayer, load: GroupLoad | None) -> str:
    words = blocker.message[0].upper() + blocker.message[1:]
    capacity = None if load is None or layer is QueueLayer.LANE else load.capacity
    if load is not None and capacity is not None and load.running >= capacity:
        return f"{words}; all {capacity} places of the group are taken."
    return f"{words}."


def _load(row: Row) -> GroupLoad:
    return GroupLoad(
        name=row["name"], labels=tuple(json.loads(row["labels"])), capacity=row["capacity"], running=row["running"]
    )
