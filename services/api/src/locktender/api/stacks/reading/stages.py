"""The steps of a deployment, each with who brought it about, which is derived. Pure."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Annotated
from uuid import UUID

from pydantic import AfterValidator, BaseModel, TypeAdapter

from locktender.contracts.stacks.analysis import PlanSummary, describe
from locktender.contracts.stacks.flow import RunStatus, StagePhase
from locktender.contracts.stacks.views import Decision, PlanGapView, PlanNumbers, RunView, StageView
from locktender.contracts.stacks.vocabulary import ActivityKind, CancellationReason, RunMode, StageKind
from locktender.contracts.stacks.wire import Binding, Narrowing, RunFailure

Stamp = Annotated[datetime, AfterValidator(lambda moment: moment.astimezone(UTC))]
"""JSON carries the zone of the session."""


class _Run(BaseModel):
    id: UUID
    mode: RunMode
    status: RunStatus
    runner_group: str
    labels: tuple[str, ...]
    assignment_attempts: int
    lease_epoch: int
    targets: tuple[str, ...]
    excludes: tuple[str, ...]
    replaces: tuple[str, ...]
    has_changes: bool | None
    summary: PlanSummary | None
    binding: Binding | None
    tool: str | None
    tool_version: str | None
    exit_code: int | None
    failure: RunFailure | None
    cancellation_reason: CancellationReason | None
    plan_run_id: UUID | None
    analysed: bool
    log_end: int
    created_at: Stamp
    first_pending_at: Stamp | None
    assigned_expires_at: Stamp | None
    started_at: Stamp | None
    completed_at: Stamp | None


class _Stage(BaseModel):
    id: UUID
    ordinal: int
    kind: StageKind
    phase: StagePhase
    created_at: Stamp
    completed_at: Stamp | None
    run: _Run | None


class _Act(BaseModel):
    kind: ActivityKind
    actor: str | None
    stage_id: UUID | None
    at: Stamp


_stages: TypeAdapter[tuple[_Stage, ...]] = TypeAdapter(tuple[_Stage, ...])
_acts: TypeAdapter[tuple[_Act, ...]] = TypeAdapter(tuple[_Act, ...])
_DECISIONS = {
    ActivityKind.CONFIRMED_APPLY: Decision.APPLY,
    ActivityKind.CONFIRMED_REPLAN: Decision.REPLAN,
    ActivityKind.CONFIRMED_SKIP: Decision.SKIP,
    ActivityKind.SKIPPED: Decision.SKIP,
}


def stages_of(stages: str | None, decisions: str | None, creator: str | None) -> tuple[StageView, ...]:
    """The steps in order. Both texts are JSON as the reads give it.

    The first step is its creator's. A confirmation is of whoever decided it. A run that follows a confirmation is
    theirs as well; one that follows a run was begun by the stack's own setting, and so by nobody.
    """
    rows, acts = _stages.validate_json(stages or "[]"), _acts.validate_json(decisions or "[]")
    shown: list[StageView] = []
    for row in rows:
        actor, decision = _brought_about(row, acts, shown, creator)
        shown.append(
            StageView(
                id=row.id, ordinal=row.ordinal, kind=row.kind, phase=row.phase, actor=actor, decision=decision,
                run=None if row.run is None else _run(row.run), created_at=row.created_at,
                completed_at=row.completed_at,
            )
        )  # fmt: skip
    return tuple(shown)


def _brought_about(
    stage: _Stage, acts: Sequence[_Act], before: Sequence[StageView], creator: str | None
) -> tuple[str | None, Decision | None]:
    if stage.kind is StageKind.CONFIRMATION:
        return _decided(stage, acts)
    if not before:
        return creator, None
    last = before[-1]
    if last.kind is StageKind.CONFIRMATION:
        return last.actor, last.decision
    return None, Decision.AUTO_APPLY if stage.kind is StageKind.APPLY_RUN else None


def _decided(stage: _Stage, acts: Sequence[_Act]) -> tuple[str | None, Decision | None]:
    for act in acts:
        # A skip of the whole deployment may name no stage; it ends the confirmation that is open then.
        own = act.stage_id == stage.id or (
            act.stage_id is None and act.kind is ActivityKind.SKIPPED and stage.phase is StagePhase.SKIPPED
        )
        if own and act.kind in _DECISIONS:
            return act.actor, _DECISIONS[act.kind]
    return None, Decision.SKIP if stage.phase is StagePhase.SKIPPED else None


def _run(row: _Run) -> RunView:
    return RunView(
        id=row.id, mode=row.mode, status=row.status, runner_group=row.runner_group, labels=row.labels,
        attempts=row.assignment_attempts, epoch=row.lease_epoch,
        narrowing=Narrowing(targets=row.targets, excludes=row.excludes, replaces=row.replaces),
        has_changes=row.has_changes, plan=None if row.summary is None else numbers_of(row.summary),
        binding=row.binding, tool=row.tool, tool_version=row.tool_version, exit_code=row.exit_code,
        failure=row.failure, cancellation_reason=row.cancellation_reason, plan_run_id=row.plan_run_id,
        analysed=row.analysed, log_bytes=row.log_end, created_at=row.created_at, pending_since=row.first_pending_at,
        assigned_until=row.assigned_expires_at, started_at=row.started_at, completed_at=row.completed_at,
    )  # fmt: skip


def numbers_of(summary: PlanSummary) -> PlanNumbers:
    """A plan in numbers, with what they leave out."""
    gaps = tuple(PlanGapView(reason=gap.reason, address=gap.address, message=gap.reason.label) for gap in summary.gaps)
    return PlanNumbers(
        has_changes=summary.has_changes, counts=summary.counts, gaps=gaps, counts_complete=summary.counts_complete,
        sentence=describe(summary),
    )  # fmt: skip
