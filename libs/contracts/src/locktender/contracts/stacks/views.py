"""What people are shown of stacks and their deployments. Nothing is guessed; what is not known is absent."""

from datetime import datetime
from enum import StrEnum
from uuid import UUID

from pydantic import Field

from locktender.contracts.stacks.analysis import GapReason, PlanCounts
from locktender.contracts.stacks.flow import DeploymentStatus, RunStatus, StagePhase
from locktender.contracts.stacks.models import QueuePolicy, SourceSpec, StackWire
from locktender.contracts.stacks.policy import CancelledEnding
from locktender.contracts.stacks.presentation import StackAction, StackDisplay
from locktender.contracts.stacks.vocabulary import (
    ActivityKind,
    AutoApproveMode,
    CancellationReason,
    DeploymentMode,
    EngineChoice,
    Origin,
    RunMode,
    SkippedReason,
    StageKind,
)
from locktender.contracts.stacks.wire import Binding, Narrowing, RunFailure


class BlockerKind(StrEnum):
    """What a deployment waits for."""

    LANE = "lane"
    """Another deployment of its stack."""
    RUNNER = "runner"
    PERSON = "person"
    RUN = "run"
    """A runner is at work."""
    RUNNER_TOLD = "runner-told"
    """Its runner was asked to stop, and has not confirmed."""
    RUNNER_STOPPING = "runner-stopping"


class StackBlocker(StackWire):
    """What stands between a deployment and its next step."""

    kind: BlockerKind
    message: str
    deployment_number: int | None = Field(default=None, description="Who holds the lane that it waits for.")
    runner_group: str | None = None
    since: datetime | None = Field(default=None, description="Since when this is so, where it is known.")


class LaneHolder(StackWire):
    """The deployment that works on a stack now."""

    id: UUID
    number: int
    mode: DeploymentMode
    status: DeploymentStatus
    since: datetime = Field(description="When it got the lane.")


class Uncertainty(StackWire):
    """An apply was lost: what it did is unknown until a refresh has looked."""

    since: datetime
    run_id: UUID
    message: str


class LatestDeployment(StackWire):
    """The newest deployment of a stack; those that only look do not count."""

    id: UUID
    number: int
    mode: DeploymentMode
    status: DeploymentStatus
    created_at: datetime
    completed_at: datetime | None


class StateLockView(StackWire):
    """Who holds the lock on a state."""

    id: str = Field(description="As the engine named the lock.")
    who: str | None
    operation: str | None
    run_id: UUID | None = Field(description="Null: somebody outside of Locktender.")
    since: datetime


class StateView(StackWire):
    """The current state of a stack."""

    lineage: str
    serial: int


class StackView(StackWire):
    """A stack as it is stored."""

    id: UUID = Field(description="Its incarnation: a name may be used again after a deletion, an id never is.")
    workspace: str
    project: str
    name: str
    description: str
    source: SourceSpec
    engine: EngineChoice
    runner_group: str
    labels: tuple[str, ...]
    auto_approve: AutoApproveMode
    policy: QueuePolicy
    has_git_token: bool
    lane: LaneHolder | None = Field(description="Null: nothing works on the stack.")
    blocked_by: StackBlocker | None = Field(description="What the deployment that holds the lane waits for.")
    uncertain: Uncertainty | None
    latest_deployment: LatestDeployment | None
    state: StateView | None = Field(description="Null: nothing was ever applied.")
    state_lock: StateLockView | None
    revision: int
    created_by: str
    created_at: datetime
    updated_at: datetime


class StackPage(StackWire):
    """Some stacks, and where to go on."""

    stacks: tuple[StackView, ...]
    next_cursor: str | None


class StackDeleted(StackWire):
    """A stack that is no more."""

    id: UUID
    workspace: str
    name: str = Field(description="It may be used again, for a stack with another id.")
    revision: int
    deleted_at: datetime


class VariableKind(StrEnum):
    """How runs are given a value."""

    VARIABLE = "variable"
    """An input variable of the configuration."""
    ENVIRONMENT = "environment"
    TOKEN = "token"  # noqa: S105 - a kind, and no token
    """An environment variable with an identity token, signed for each run. The value is the audience."""
    TOKEN_FILE = "token-file"  # noqa: S105 - as above
    """The same token in a private file, whose path the environment variable has."""

    @property
    def signed(self) -> bool:
        """Whether runs are given a token of their own, for the audience that is stored."""
        return self in {VariableKind.TOKEN, VariableKind.TOKEN_FILE}


class VariableView(StackWire):
    """A value that runs are given."""

    kind: VariableKind
    name: str
    sensitive: bool
    value: str | None = Field(
        description="Null where it is sensitive: nobody is shown it again. Of a token: its audience."
    )
    updated_by: str
    updated_at: datetime


class VariableList(StackWire):
    """All of a stack's, by kind and name."""

    variables: tuple[VariableView, ...]


class CommitView(StackWire):
    """What is known of the commit, or of the archive, that a deployment is pinned to."""

    id: str
    subject: str | None = None
    author: str | None = None
    authored_at: datetime | None = None
    ref: str | None = Field(default=None, description="What it was found by.")
    head: str | None = Field(default=None, description="Of a working tree: the commit that it stood on.")
    dirty: bool | None = Field(default=None, description="Of a working tree: whether it differed from that commit.")


class PlanGapView(StackWire):
    """One reason why the numbers do not describe the whole plan."""

    reason: GapReason
    address: str | None
    message: str


class PlanNumbers(StackWire):
    """A plan in numbers, never without their gaps."""

    has_changes: bool
    counts: PlanCounts
    gaps: tuple[PlanGapView, ...]
    counts_complete: bool = Field(description="Without it, a zero is no evidence.")
    sentence: str = Field(description="All of it in words.")


class RunView(StackWire):
    """What a runner executes, or is to execute."""

    id: UUID
    mode: RunMode
    status: RunStatus
    runner_group: str
    labels: tuple[str, ...]
    attempts: int = Field(description="How often it was promised to a runner that did not take it over.")
    epoch: int
    narrowing: Narrowing
    has_changes: bool | None = Field(description="Null unless a plan succeeded.")
    plan: PlanNumbers | None
    binding: Binding | None = Field(description="What exactly was planned, and is confirmed by `planDigest`.")
    tool: str | None
    tool_version: str | None
    exit_code: int | None
    failure: RunFailure | None
    cancellation_reason: CancellationReason | None
    plan_run_id: UUID | None = Field(description="Of an apply: the run whose plan it applies.")
    analysed: bool = Field(description="Whether there is an analysis to read.")
    log_bytes: int
    created_at: datetime
    pending_since: datetime | None
    assigned_until: datetime | None = Field(description="When a promise to a runner lapses.")
    started_at: datetime | None
    completed_at: datetime | None


class Decision(StrEnum):
    """How a step came to go on."""

    APPLY = "apply"
    REPLAN = "replan"
    SKIP = "skip"
    AUTO_APPLY = "auto-apply"
    """The stack applies by itself."""


class StageView(StackWire):
    """One step."""

    id: UUID
    ordinal: int
    kind: StageKind
    phase: StagePhase
    actor: str | None = Field(description="Who brought it about. Null: nobody did, or nobody is known.")
    decision: Decision | None = Field(
        description="Of a confirmation: what was decided, null while it is open. Of a run: by which decision it was "
        "begun, null for the first."
    )
    run: RunView | None
    created_at: datetime
    completed_at: datetime | None


class DeploymentEntry(StackWire):
    """A deployment, without its steps."""

    id: UUID
    workspace: str
    stack: str
    stack_id: UUID
    number: int
    mode: DeploymentMode
    status: DeploymentStatus
    presentation: StackDisplay = Field(description="The row of the presentation table that it is shown by.")
    actions: tuple[StackAction, ...] = Field(description="What can be done to it as it stands.")
    origin: Origin
    commit: CommitView
    note: str
    created_by: str | None
    prioritized_at: datetime | None
    prioritized_by: str | None
    skipped_reason: SkippedReason | None = Field(description="Null where a person skipped it.")
    failure: RunFailure | None
    cancel_requested_at: datetime | None
    cancel_requested_by: str | None
    waiting_since: datetime | None
    blocked_by: StackBlocker | None = Field(description="Null once it has ended.")
    deadline_at: datetime | None = Field(description="When the present wait ends by itself.")
    deadline: str | None = Field(description="What happens then, or that there is no end. Null once it has ended.")
    cancelled_ending: CancelledEnding | None
    ending: str | None = Field(description="How it ended, in a sentence.")
    revision: int
    created_at: datetime
    started_at: datetime | None
    completed_at: datetime | None
    updated_at: datetime


class DeploymentView(DeploymentEntry):
    """A deployment with everything that it did and does."""

    source: SourceSpec = Field(description="The stack's when it was made.")
    stages: tuple[StageView, ...]


class DeploymentPage(StackWire):
    """Some deployments, newest first, and where to go on."""

    deployments: tuple[DeploymentEntry, ...]
    next_cursor: str | None


class ActivityEntry(StackWire):
    """One thing that somebody did, or the end."""

    kind: ActivityKind | None = Field(description="Null: the end, which is derived from the deployment itself.")
    status: DeploymentStatus | None = Field(description="Of the end: what it ended as.")
    actor: str | None
    message: str
    details: dict[str, object]
    stage_ordinal: int | None
    at: datetime


class ActivityTrail(StackWire):
    """All of a deployment's, oldest first; the end, if there is one, comes last."""

    entries: tuple[ActivityEntry, ...]
