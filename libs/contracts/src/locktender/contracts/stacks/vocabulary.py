"""The words of the stacks context: modes, kinds, origins, reasons. Statuses are in `flow`."""

from enum import StrEnum


class DeploymentMode(StrEnum):
    """What a deployment is for. Applying is what a run does, not what a deployment is."""

    PLAN = "plan"
    DESTROY = "destroy"
    REFRESH = "refresh"
    PLAN_UNLOCKED = "plan_unlocked"
    """Only looks: neither holds the lane nor waits for it, and nothing can be applied from it."""
    RAW = "raw"

    @property
    def uses_lane(self) -> bool:
        """Whether it waits for the lane of its stack and holds it until it ends."""
        return self is not DeploymentMode.PLAN_UNLOCKED


class RunMode(StrEnum):
    """What one run does."""

    PLAN = "plan"
    DESTROY = "destroy"
    REFRESH = "refresh"
    APPLY = "apply"
    RAW = "raw"

    @property
    def is_plan_style(self) -> bool:
        """It only plans, and leaves a plan file that an apply takes. Destroy and refresh plan as well."""
        return self in {RunMode.PLAN, RunMode.DESTROY, RunMode.REFRESH}

    @property
    def mutates(self) -> bool:
        """It may change the world and the state, so its real outcome is kept and its loss makes a stack uncertain."""
        return not self.is_plan_style


class StageKind(StrEnum):
    """What one step of a deployment is."""

    PLAN_RUN = "plan_run"
    DESTROY_RUN = "destroy_run"
    REFRESH_RUN = "refresh_run"
    APPLY_RUN = "apply_run"
    RAW_RUN = "raw_run"
    CONFIRMATION = "confirmation"


def stage_of(mode: RunMode) -> StageKind:
    """The kind of the stage whose run has this mode."""
    return StageKind(f"{mode}_run")


def first_run_of(mode: DeploymentMode) -> RunMode:
    """What the first run of a deployment does."""
    return RunMode.PLAN if mode is DeploymentMode.PLAN_UNLOCKED else RunMode(mode.value)


class Origin(StrEnum):
    """What started a deployment."""

    MANUAL = "manual"
    RETRY = "retry"
    LOCAL = "local"
    """A plan of somebody's working tree. Always `plan_unlocked`, never applied, never retried."""
    SCM = "scm"
    PULL_REQUEST = "pull_request"
    PROMOTED_PULL_REQUEST = "promoted_pull_request"
    DEPENDENCY = "dependency"


class SkippedReason(StrEnum):
    """Why a deployment was skipped by itself. A person who skips leaves no reason here."""

    SUPERSEDED = "superseded"
    CONFIRMATION_TIMEOUT = "confirmation_timeout"
    QUEUED_TIMEOUT = "queued_timeout"
    RETRACTED = "retracted"
    PULL_REQUEST_CLOSED = "pull_request_closed"


class AutoApproveMode(StrEnum):
    """Whether a plan with changes is applied without a person."""

    MANUAL = "manual"
    AUTO = "auto"
    NON_DESTRUCTIVE = "non_destructive"


class EngineChoice(StrEnum):
    """Which tool runs a stack."""

    AUTO = "auto"
    """OpenTofu where it is on the runner's PATH, else Terraform."""
    TOFU = "tofu"
    TERRAFORM = "terraform"


class ActivityKind(StrEnum):
    """What somebody did to a deployment. Outcomes are not in here: they are on the deployment itself."""

    CREATED = "created"
    CONFIRMED_APPLY = "confirmed_apply"
    CONFIRMED_REPLAN = "confirmed_replan"
    CONFIRMED_SKIP = "confirmed_skip"
    SKIPPED = "skipped"
    CANCELLATION_REQUESTED = "cancellation_requested"
    PRIORITIZED = "prioritized"
    DEPRIORITIZED = "deprioritized"
    AUTO_APPLIED = "auto_applied"
    AUTO_APPROVE_SUPPRESSED = "auto_approve_suppressed"

    @property
    def may_lack_actor(self) -> bool:
        """Three kinds can happen without a person; every other one names who did it."""
        return self in {ActivityKind.CREATED, ActivityKind.AUTO_APPLIED, ActivityKind.AUTO_APPROVE_SUPPRESSED}


class RunFailureReason(StrEnum):
    """Why a run failed."""

    ENGINE_FAILED = "engine-failed"
    """The tool exited with an error; the log says which."""
    ENGINE_MISSING = "engine-missing"
    SOURCE_UNAVAILABLE = "source-unavailable"
    BINDING_MISMATCH = "binding-mismatch"
    """What was confirmed is not what is there now. Nothing was applied."""
    PLAN_NOT_KEPT = "plan-not-kept"
    """The plan has changes, but its file could not be stored, so nobody could ever apply it."""
    CREDENTIALS_LOST = "credentials-lost"
    LOST = "lost"
    """The runner fell silent. What an apply has changed by then is unknown."""
    STARTUP_TIMEOUT = "startup-timeout"
    DISPATCH_FAILED = "dispatch-failed"
    RUNNER_DELETED = "runner-deleted"
    INTERNAL = "internal"


class CancellationReason(StrEnum):
    """Why a run was cancelled when nobody asked for it."""

    RUN_DEADLINE = "run_deadline"
