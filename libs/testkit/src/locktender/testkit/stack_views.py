"""Stacks, deployments and plans as the API shows them, for tests of clients: valid by the models, plain by default."""

from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from locktender.contracts.stacks.analysis import (
    ChangeAction,
    GapReason,
    OutputChange,
    PlanChange,
    PlanChanges,
    PlanCounts,
    PlanGap,
    PlanSummary,
    StateOp,
    StateOpKind,
    describe,
)
from locktender.contracts.stacks.flow import DeploymentStatus, RunStatus, StagePhase
from locktender.contracts.stacks.models import GitSource, QueuePolicy
from locktender.contracts.stacks.presentation import DeploymentFacts, actions_of, display_of
from locktender.contracts.stacks.views import (
    CommitView,
    DeploymentView,
    PlanGapView,
    PlanNumbers,
    RunView,
    StackView,
    StageView,
)
from locktender.contracts.stacks.vocabulary import (
    AutoApproveMode,
    DeploymentMode,
    EngineChoice,
    Origin,
    RunMode,
    StageKind,
    first_run_of,
    stage_of,
)
from locktender.contracts.stacks.wire import Binding, Narrowing

NOON = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
DIGEST = "d" * 64
COMMIT = "c" * 40
RUN, STAGE, DEPLOYMENT, STACK = (UUID(int=number) for number in range(1, 5))


def shown(model: Any) -> dict[str, Any]:
    """A model as a client reads it."""
    return model.model_dump(mode="json", by_alias=True)


def numbers(summary: PlanSummary) -> PlanNumbers:
    """A plan in numbers, as the API tells them."""
    gaps = tuple(
        PlanGapView(reason=each.reason, address=each.address, message=each.reason.label) for each in summary.gaps
    )
    return PlanNumbers(
        has_changes=summary.has_changes, counts=summary.counts, gaps=gaps, counts_complete=summary.counts_complete,
        sentence=describe(summary),
    )  # fmt: skip


def run_view(**changes: Any) -> RunView:
    """A run that has planned."""
    binding = Binding(
        plan_digest=DIGEST, commit=COMMIT, variables_digest="e" * 64, tool="terraform", tool_version="1.11.4"
    )
    usual: dict[str, Any] = {
        "id": RUN, "mode": RunMode.PLAN, "status": RunStatus.SUCCESS, "runner_group": "default", "labels": (),
        "attempts": 0, "epoch": 1, "narrowing": Narrowing(), "has_changes": True, "plan": numbers(SUMMARY),
        "binding": binding, "tool": "terraform", "tool_version": "1.11.4", "exit_code": 2, "failure": None,
        "cancellation_reason": None, "plan_run_id": None, "analysed": True, "log_bytes": 10, "created_at": NOON,
        "pending_since": NOON, "assigned_until": None, "started_at": NOON, "completed_at": NOON,
    }  # fmt: skip
    return RunView(**(usual | changes))


def stage_view(run: RunView | None, **changes: Any) -> StageView:
    """The stage of a run; without one, a confirmation."""
    usual: dict[str, Any] = {
        "id": STAGE, "ordinal": 1, "kind": StageKind.CONFIRMATION if run is None else stage_of(run.mode),
        "phase": StagePhase.DONE, "actor": "ada", "decision": None, "run": run, "created_at": NOON,
        "completed_at": NOON,
    }  # fmt: skip
    return StageView(**(usual | changes))


def deployment_view(
    status: DeploymentStatus = DeploymentStatus.WAITING, *, run: RunView | None = None, **changes: Any
) -> DeploymentView:
    """A deployment with one run; unless told otherwise, one that waits for a confirmation."""
    mode: DeploymentMode = changes.get("mode", DeploymentMode.PLAN)
    run = run or run_view(mode=first_run_of(mode))
    facts = DeploymentFacts(status, mode, Origin.MANUAL, run=run.status, run_mode=run.mode)
    usual: dict[str, Any] = {
        "id": DEPLOYMENT, "workspace": "main", "stack": "network", "stack_id": STACK, "number": 12, "mode": mode,
        "status": status, "presentation": display_of(facts), "actions": actions_of(facts), "origin": Origin.MANUAL,
        "commit": CommitView(id=COMMIT, ref="main", subject="Wider net"), "note": "", "created_by": "ada",
        "prioritized_at": None, "prioritized_by": None, "skipped_reason": None, "failure": None,
        "cancel_requested_at": None, "cancel_requested_by": None, "waiting_since": None, "blocked_by": None,
        "deadline_at": None, "deadline": None, "cancelled_ending": None, "ending": None, "revision": 3,
        "created_at": NOON, "started_at": NOON, "completed_at": None, "updated_at": NOON,
        "source": GitSource(url="https://git.example.com/net", ref="main"), "stages": (stage_view(run),),
    }  # fmt: skip
    return DeploymentView(**(usual | changes))


def stack_view(**changes: Any) -> StackView:
    """A stack that was never deployed."""
    usual: dict[str, Any] = {
        "id": STACK, "workspace": "main", "project": "default", "name": "network", "description": "",
        "source": GitSource(url="https://git.example.com/net", ref="main", path="infra"), "engine": EngineChoice.AUTO,
        "runner_group": "default", "labels": (), "auto_approve": AutoApproveMode.MANUAL, "policy": QueuePolicy(),
        "has_git_token": False, "lane": None, "blocked_by": None, "uncertain": None, "latest_deployment": None,
        "state": None, "state_lock": None, "revision": 1, "created_by": "ada", "created_at": NOON, "updated_at": NOON,
    }  # fmt: skip
    return StackView(**(usual | changes))


def change(address: str, action: ChangeAction, *diff: str, **more: Any) -> PlanChange:
    """A change of one resource."""
    kind, _, name = address.rpartition("[")[0].rpartition(".") if "[" in address else address.rpartition(".")
    return PlanChange(address=address, type=kind or "t", name=name, action=action, diff=diff, **more)


SUMMARY = PlanSummary(
    has_changes=True,
    counts=PlanCounts(create=1, update=1, moves=1, outputs_changed=1),
    gaps=(PlanGap(reason=GapReason.NARROWED),),
)
CHANGES = PlanChanges(
    resources=(
        change("null_resource.a", ChangeAction.CREATE, '+ resource "null_resource" "a" {', '    + id = "x"', "  }"),
        change(
            "null_resource.b", ChangeAction.UPDATE, '~ resource "null_resource" "b" {', '    ~ n = "1" -> "2"', "  }",
            state_ops=(StateOp(kind=StateOpKind.MOVE, from_address="null_resource.old"),), reason="it is tainted",
        ),
    ),
    outputs=(OutputChange(name="url", action=ChangeAction.UPDATE, diff=('    ~ url = "a" -> "b"',)),),
    drift=(change("null_resource.gone", ChangeAction.DELETE, '- resource "null_resource" "gone" {', "  }"),),
)  # fmt: skip
