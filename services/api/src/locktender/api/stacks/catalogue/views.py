"""Rows of stacks as what people are shown. Pure."""

import json
from typing import Any

from locktender.api.stacks.reading.views import SOURCES
from locktender.api.stacks.reading.waits import ahead_of
from locktender.contracts.stacks.models import QueuePolicy
from locktender.contracts.stacks.views import (
    LaneHolder,
    LatestDeployment,
    StackView,
    StateLockView,
    StateView,
    Uncertainty,
)
from locktender.contracts.stacks.waiting import blocked_by
from locktender.storage.kernel.database import Row

_AS_STORED = (
    "id", "workspace", "project", "name", "description", "engine", "runner_group", "auto_approve", "has_git_token",
    "revision", "created_by", "created_at", "updated_at",
)  # fmt: skip
_UNCERTAIN = "An apply was lost: what it did is unknown. Deploy in mode `refresh` to find out."


def stack_view(row: Row) -> StackView:
    """A stack, with who works on it and what that one waits for."""
    ahead = ahead_of(row)
    return StackView(
        **{name: row[name] for name in _AS_STORED},
        source=SOURCES.validate_json(row["source"]),
        labels=tuple(json.loads(row["labels"])),
        policy=QueuePolicy(
            confirmation_timeout_seconds=row["confirmation_timeout_seconds"],
            queued_timeout_seconds=row["queued_timeout_seconds"],
            supersede_after_seconds=row["supersede_after_seconds"],
        ),
        lane=_lane(row),
        blocked_by=None if ahead is None else blocked_by(ahead.deployment, None),
        uncertain=_uncertain(row),
        latest_deployment=_latest(row),
        state=_state(row),
        state_lock=_lock(row),
    )


def _lane(row: Row) -> LaneHolder | None:
    if row["holder_id"] is None:
        return None
    return LaneHolder(
        id=row["holder_id"], number=row["holder_number"], mode=row["holder_mode"], status=row["holder_status"],
        since=row["lane_taken_at"],
    )  # fmt: skip


def _uncertain(row: Row) -> Uncertainty | None:
    if row["uncertain_since"] is None:
        return None
    return Uncertainty(since=row["uncertain_since"], run_id=row["uncertain_run_id"], message=_UNCERTAIN)


def _latest(row: Row) -> LatestDeployment | None:
    if row["latest_deployment_id"] is None:
        return None
    names = ("id", "number", "mode", "status", "created_at", "completed_at")
    return LatestDeployment(**{name: row[f"latest_deployment_{name}"] for name in names})


def _state(row: Row) -> StateView | None:
    if row["state_serial"] is None:
        return None
    return StateView(lineage=row["state_lineage"], serial=row["state_serial"])


def _lock(row: Row) -> StateLockView | None:
    if row["state_lock"] is None:
        return None
    said: dict[str, Any] = json.loads(row["state_lock"])
    return StateLockView(
        id=str(said.get("ID", "")), who=said.get("Who"), operation=said.get("Operation"),
        run_id=row["state_lock_run_id"], since=row["state_locked_at"],
    )  # fmt: skip
