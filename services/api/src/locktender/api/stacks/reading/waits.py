"""The facts of rows that say what a deployment waits for. Pure."""

import json

from locktender.contracts.kernel.subjects import DEFAULT_GROUP
from locktender.contracts.stacks.flow import DeploymentStatus, RunStatus
from locktender.contracts.stacks.waiting import Ahead, WaitingDeployment, WaitingRun
from locktender.storage.kernel.database import Row


def waiting_of(row: Row, *, prefix: str = "", run: str = "run") -> WaitingDeployment:
    """A deployment whose columns begin with `prefix`, and those of its newest run with `run`."""
    return WaitingDeployment(
        DeploymentStatus(row[f"{prefix}status"]), row[f"{prefix}created_at"], row[f"{prefix}waiting_since"],
        row[f"{prefix}cancel_requested_at"], _run(row, run),
    )  # fmt: skip


def ahead_of(row: Row) -> Ahead | None:
    """The holder of the lane of the stack of the row."""
    if row["holder_id"] is None:
        return None
    return Ahead(row["holder_number"], waiting_of(row, prefix="holder_", run="holder_run"))


def _run(row: Row, prefix: str) -> WaitingRun | None:
    if row[f"{prefix}_id"] is None:
        return None
    return WaitingRun(
        RunStatus(row[f"{prefix}_status"]),
        row[f"{prefix}_runner_group"],
        row[f"{prefix}_first_pending_at"],
        row[f"{prefix}_assigned_expires_at"],
        row[f"{prefix}_lease_claimed_at"],
        _fault(row, prefix),
    )


def _fault(row: Row, prefix: str) -> str | None:
    """Why no runner can ever take the run. Nothing is known of the labels of the group that is ours."""
    if row[f"{prefix}_runner_group"] == DEFAULT_GROUP:
        return None
    offered = row[f"{prefix}_group_labels"]
    if offered is None:
        return "there is no such group"
    lacking = sorted(set(json.loads(row[f"{prefix}_labels"])) - set(json.loads(offered)))
    return f"the group does not offer {', '.join(lacking)}" if lacking else None
