"""What the deployments context says to the outside: requests, tasks, timelines, events. JSON is camelCase."""

from datetime import datetime
from enum import StrEnum
from typing import Annotated, Literal
from uuid import UUID

from pydantic import Field, SecretStr

from locktender.contracts.deployments.cards import CardStatus
from locktender.contracts.deployments.flow import TaskPhase, TaskStatus
from locktender.contracts.deployments.inputs import Asked, Scalar
from locktender.contracts.deployments.plan import PlannedAction, PlanSummary
from locktender.contracts.deployments.presentation import Action, DisplayState
from locktender.contracts.deployments.wire import Name, ObjectRef, Wire


class RunnerKind(StrEnum):
    """How a task is executed."""

    DIRECT = "direct"
    """Applies the manifests with the caller's own credentials."""
    TEMPLATE = "template"
    """Renders a package with inputs, then applies what came of it like `direct`."""
    NOOP = "noop"
    """Does nothing, truthfully. Only where the `noop_runner` setting allows it; benchmarks use it."""


class ManifestsSource(Wire):
    """Kubernetes manifests as one YAML stream or JSON text."""

    kind: Literal["manifests"] = "manifests"
    manifests: str = Field(description="YAML documents, separated by `---`, or JSON.")


class NoopSource(Wire):
    """Nothing to deploy."""

    kind: Literal["noop"] = "noop"


class TemplateSource(Wire):
    """A package of the catalogue, or one template as text. Exactly one of the two; its inputs go beside the source."""

    kind: Literal["template"] = "template"
    template: str | None = Field(default=None, min_length=1, max_length=200, description="A name in the catalogue.")
    text: str | None = Field(
        default=None, min_length=1, description="A template. It is stored as it is: keep secrets in inputs."
    )


Source = Annotated[ManifestsSource | TemplateSource | NoopSource, Field(discriminator="kind")]


class Target(Wire):
    """Where to deploy: a project of the workspace, and a namespace of the cluster that the kubeconfig reaches."""

    project: Name = "default"
    namespace: Name | None = Field(default=None, description="Default: the namespace of the kubeconfig's context.")


Kind = Annotated[str, Field(pattern=r"^[A-Z][A-Za-z0-9]{0,62}$")]
FieldManager = Annotated[str, Field(min_length=1, max_length=128, pattern=r"^[!-~]+$")]


class ApplyOptions(Wire):
    """How documents are applied. Each is an explicit decision, and is recorded with who made it."""

    force: bool = Field(default=False, description="Take fields over from other field managers.")
    replace: tuple[Kind, ...] = Field(
        default=(),
        max_length=32,
        description="Kinds whose objects may be deleted and created anew where a field that cannot change differs.",
    )
    migrate_from: tuple[FieldManager, ...] = Field(
        default=("kubectl-client-side-apply", "before-first-apply"),
        max_length=16,
        description="Field managers whose ownership passes to Locktender, so that what is no longer written goes away.",
    )


class CreateTask(Wire):
    """A request to deploy."""

    source: Source | None = Field(default=None, description="Default: the source of the predecessor.")
    target: Target | None = Field(
        default=None, description="Default: the target of the predecessor, or project `default`."
    )
    apply: ApplyOptions | None = None
    display_name: str | None = Field(default=None, max_length=200)
    inputs: dict[str, Scalar] = Field(
        default_factory=dict,
        max_length=400,
        description="Values for a template, or for what a predecessor was given and is never stored. Secret ones are "
        "kept in memory alone.",
    )
    sensitive_keys: tuple[str, ...] = Field(
        default=(), max_length=400, description="Inputs that are secret, beyond those that the template says are."
    )
    predecessor_task_id: UUID | None = Field(
        default=None, description="A failed or cancelled task that this one takes the place of."
    )
    kubeconfig: SecretStr | None = Field(
        default=None, description="Kept in memory until the run ends or the start deadline passes; never stored."
    )


class Identity(Wire):
    """What a run has named, kept for as long as it is redeployed, so that a redeploy finds its own resources.

    `defaults` are the worked-out defaults that are not secret; `seed` makes the others again.
    """

    instance: str
    seed: UUID
    defaults: dict[str, str] = Field(default_factory=dict)


class ApplyState(StrEnum):
    """What is known of one document's way into the cluster."""

    PENDING = "pending"
    """Not sent."""
    APPLYING = "applying"
    """Sent; the answer is not recorded. After an interruption this means: unknown."""
    APPLIED = "applied"
    UNCHANGED = "unchanged"
    REFUSED = "refused"
    NOT_APPLIED = "not-applied"
    """The run ended before this document was sent."""
    REMOVED = "removed"
    """Applying failed half-way, and the run removed again what it had made."""


class StepStatus(StrEnum):
    """How far a step of the timeline is."""

    PENDING = "pending"
    RUNNING = "running"
    COMPLETED = "completed"
    BLOCKED = "blocked"
    FAILED = "failed"
    SKIPPED = "skipped"


class Card(Wire):
    """One document of the source: was it applied, and is what it describes ready?"""

    index: int
    ref: ObjectRef
    required: bool = True
    apply: ApplyState = ApplyState.PENDING
    status: CardStatus = CardStatus.PENDING
    reason: str | None = None
    message: str | None = None
    hint: str | None = None
    planned: PlannedAction | None = Field(default=None, description="What the plan said that applying would do.")


class Step(Wire):
    """A stage of the run that people can follow."""

    id: str
    label: str
    status: StepStatus = StepStatus.PENDING


class Timeline(Wire):
    """The run as people see it. Each change raises `revision`."""

    revision: int = 0
    steps: tuple[Step, ...] = ()
    cards: tuple[Card, ...] = ()
    plan: PlanSummary | None = Field(default=None, description="Absent until the cluster was asked.")
    wait_until: datetime | None = Field(default=None, description="When the runner gives up its present wait.")


class FailureReason(StrEnum):
    """Why a task ended without success, as one stable word."""

    APPLY_FAILED = "apply-failed"
    APPLY_CONFLICT = "apply-conflict"
    DENIED = "denied"
    UNAUTHORIZED = "unauthorized"
    CLUSTER_UNREACHABLE = "cluster-unreachable"
    INVALID_MANIFEST = "invalid-manifest"
    TEMPLATE_INVALID = "template-invalid"
    """The template cannot be rendered."""
    UNKNOWN_KIND = "unknown-kind"
    QUOTA_EXCEEDED = "quota-exceeded"
    IMMUTABLE_FIELD = "immutable-field"
    NAMESPACE_TERMINATING = "namespace-terminating"
    OVERTAKEN = "overtaken"
    """A newer deployment, or a newer run of this one, has applied the object in the meantime."""
    RESOURCE_FAILED = "resource-failed"
    READINESS_TIMEOUT = "readiness-timeout"
    CREDENTIALS_LOST = "credentials-lost"
    INTERRUPTED = "interrupted"
    TIMEOUT = "timeout"
    NEVER_STARTED = "never-started"
    RUNNER_ERROR = "runner-error"
    CANCELLED = "cancelled"
    UNKNOWN = "unknown"


class Failure(Wire):
    """What went wrong, in words that carry no secret."""

    reason: str
    stage: str | None = None
    message: str
    detail: str | None = None


class Blocker(Wire):
    """What a task that is not over waits for."""

    kind: Literal["runner", "cluster", "resources", "input", "cancel", "shutdown"]
    message: str


class TaskView(Wire):
    """A deployment task as it is stored. Nothing here is guessed; what is not known is absent."""

    id: UUID
    workspace: str
    project: str
    namespace: str | None
    server: str | None
    display_name: str
    runner: str
    status: TaskStatus
    phase: TaskPhase
    presentation: DisplayState = Field(description="The row of the presentation table that this task is shown by.")
    actions: tuple[Action, ...] = Field(description="What can be done to it as it stands.")
    epoch: int
    revision: int
    created_by: str
    created_from: str
    predecessor_id: UUID | None = Field(description="The task that this one was deployed in place of.")
    superseded_by: UUID | None = Field(description="The newest task that was deployed in place of this one.")
    instance: str | None = Field(description="The name that a template was deployed under, once there is one.")
    asked: Asked | None = Field(description="What a blocked task waits for.")
    resume_requested_at: datetime | None = Field(description="When inputs came in that no runner has taken yet.")
    resume_requested_by: str | None
    cancel_requested_at: datetime | None
    cancel_requested_by: str | None
    failure: Failure | None
    started_at: datetime | None
    completed_at: datetime | None
    created_at: datetime
    updated_at: datetime
    blocked_by: Blocker | None = Field(description="Null once the task is over.")
    deadline_at: datetime | None = Field(
        description="When the engine ends this wait by itself. Null: over, or without a deadline."
    )


class EventView(Wire):
    """One recorded event of a task. `revision` rises by one from event to event."""

    revision: int
    kind: str
    status: TaskStatus
    epoch: int
    actor: str
    message: str
    payload: dict[str, object]
    created_at: datetime


class Snapshot(Wire):
    """Everything about one task, read at one moment."""

    task: TaskView
    timeline: Timeline
    events: tuple[EventView, ...]


class TaskPage(Wire):
    """Some tasks, newest first, and where to go on."""

    tasks: tuple[TaskView, ...]
    next_cursor: str | None


class EventPage(Wire):
    """Events of one task above a revision, oldest first."""

    events: tuple[EventView, ...]
