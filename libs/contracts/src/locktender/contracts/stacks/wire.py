"""What a runner and the API say to each other about one run. The same for our runner service and for remote runners.

Everything is under `/v1/runs/{run}`, authenticated by the run token. A token is written by the accept that took the
epoch, and ends with the lease: who holds a valid one holds the epoch.
"""

from enum import StrEnum
from typing import Annotated, Literal, Protocol
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field, SecretStr
from pydantic.alias_generators import to_camel

from locktender.contracts.kernel.ids import Workspace
from locktender.contracts.stacks.analysis import PlanSummary
from locktender.contracts.stacks.flow import RunStatus
from locktender.contracts.stacks.vocabulary import CancellationReason, EngineChoice, RunFailureReason, RunMode

MAX_LOG_CHUNK = 256 * 1024
"""Bytes of log in one request, at most."""

PLAN_FILE = "plan.tfplan"
ANALYSIS = "analysis.json"
PLAN_SUMMARY = "plan-summary.json"
SOURCE_ARCHIVE = "source.tar.gz"

ArtifactName = Literal["plan.tfplan", "analysis.json", "plan-summary.json", "source.tar.gz"]


class RunWire(BaseModel):
    """A JSON object of the run protocol: camelCase, immutable. Unknown members are ignored, so both ends may age."""

    model_config = ConfigDict(
        defer_build=True, alias_generator=to_camel, populate_by_name=True, extra="ignore", frozen=True
    )


class GitCheckout(RunWire):
    """A commit of a repository."""

    kind: Literal["git"] = "git"
    url: str
    commit: str
    ref: str | None = None
    path: str = "."


class ArchiveCheckout(RunWire):
    """A tar.gz that the run downloads as its artifact `source.tar.gz`; its digest is checked before it is opened."""

    kind: Literal["archive"] = "archive"
    sha256: str
    path: str = "."


Checkout = Annotated[GitCheckout | ArchiveCheckout, Field(discriminator="kind")]


class StateBackend(RunWire):
    """Where the engine finds its state (Terraform's `http` backend). User: the run's id; password: the run token."""

    address: str
    lock_address: str
    unlock_address: str


class Narrowing(RunWire):
    """What a run was restricted to. Targets and excludes cannot be combined."""

    targets: tuple[str, ...] = ()
    excludes: tuple[str, ...] = ()
    replaces: tuple[str, ...] = ()

    @property
    def narrowed(self) -> bool:
        """Whether the plan may be silent about resources that would change. A replace alone hides nothing."""
        return bool(self.targets or self.excludes)


class Binding(RunWire):
    """What exactly was planned. A confirmation binds it, and an apply refuses everything else."""

    plan_digest: str = Field(description="SHA-256 of the plan file, hex.")
    commit: str
    variables_digest: str = Field(description="Of all variables and environment values; says nothing about them.")
    tool: str
    tool_version: str
    state_lineage: str | None = Field(default=None, description="None where there was no state yet.")
    state_serial: int | None = None


class RunContext(RunWire):
    """Everything a runner needs besides its token. What is secret is in `sealed`."""

    run_id: UUID
    epoch: int
    workspace: Workspace
    stack_id: UUID
    stack_name: str
    deployment_id: UUID
    deployment_number: int
    mode: RunMode
    engine: EngineChoice
    checkout: Checkout
    backend: StateBackend
    narrowing: Narrowing = Narrowing()
    binding: Binding | None = Field(default=None, description="What an apply has to find. None for every other run.")
    variables: dict[str, str] = Field(default_factory=dict, description="Input variables that are not secret.")
    environment: dict[str, str] = Field(default_factory=dict, description="Environment values that are not secret.")
    variables_digest: str
    deadline_seconds: float = Field(description="From the accept; then the tool is asked to stop.")
    grace_seconds: float = Field(description="From being asked to stop until it is killed.")
    sealed: str = Field(description="RunSecrets as JSON, HPKE-sealed to the runner's key, base64.")


class RunSecrets(RunWire):
    """What is secret of a run. It exists in the memory of the API and of the runner, sealed in between."""

    variables: dict[str, SecretStr] = Field(default_factory=dict)
    environment: dict[str, SecretStr] = Field(default_factory=dict)
    tokens: dict[str, SecretStr] = Field(
        default_factory=dict, description="Identity tokens, by the environment variable that holds each."
    )
    token_files: dict[str, SecretStr] = Field(
        default_factory=dict, description="Identity tokens, by the environment variable that holds the path of each."
    )
    git_token: SecretStr | None = None
    script: SecretStr | None = None

    def values(self) -> list[str]:
        """Every secret text, for the scrubber. The script is not one: what it prints is its output."""
        named = (self.variables, self.environment, self.tokens, self.token_files)
        held = [value for each in named for value in each.values()]
        return [each.get_secret_value() for each in (*held, *([self.git_token] if self.git_token else []))]


class Outcome(StrEnum):
    """How a runner says a run went. What becomes of the run is the API's decision."""

    SUCCESS = "success"
    FAILURE = "failure"
    CANCELLED = "cancelled"


class RunFailure(RunWire):
    """Why a run failed, in words for the person who reads the deployment."""

    reason: RunFailureReason
    message: str = Field(max_length=2000)


class Done(RunWire):
    """The end of a run as its runner saw it."""

    outcome: Outcome
    has_changes: bool | None = Field(default=None, description="The engine's exit code. None unless a plan succeeded.")
    summary: PlanSummary | None = None
    binding: Binding | None = None
    failure: RunFailure | None = None
    cancellation_reason: CancellationReason | None = None
    tool: str | None = None
    tool_version: str | None = None
    exit_code: int | None = None


class StatusAnswer(RunWire):
    """What is true of the run now."""

    status: RunStatus


class Accepted(RunWire):
    """A run taken over by a remote runner."""

    run_id: UUID
    epoch: int
    token: SecretStr
    ttl_seconds: float = Field(description="How long the lease lives without a status request.")


class Offer(RunWire):
    """A run promised to a runner: accept it with this assignment, before the deadline, or it goes to another."""

    run_id: UUID
    runner_id: UUID
    assignment: SecretStr
    expires_in_seconds: float


class LogAccepted(RunWire):
    """How much of the log is kept: the next chunk starts here."""

    end: int


class LeaseGone(Exception):
    """The run is somebody else's by now, or over. Nothing may be done or reported any more."""


class Flag(Protocol):
    """Something that becomes true once, and can be waited for. An `asyncio.Event` is one."""

    def is_set(self) -> bool:
        """Whether it is true by now."""
        ...

    async def wait(self) -> object:
        """Return when it is."""
        ...


class RunPort(Protocol):
    """One run as its executor sees it. Every method may be tried again; none does anything twice.

    Raises, all of them:
        LeaseGone: the token is not valid any more.
        Unavailable: the API could not be reached within the bounds of the port.
    """

    cancelled: Flag
    """Set when somebody asked for a cancel."""
    lost: Flag
    """Set when the lease is gone. The tool must be killed at once."""

    async def log(self, chunk: bytes) -> None:
        """Keep and show a piece of the log, in order. It must be scrubbed by now."""
        ...

    async def put_artifact(self, name: ArtifactName, data: bytes) -> None:
        """Keep an artifact of this run. Written once; the same bytes again are fine."""
        ...

    async def get_artifact(self, name: ArtifactName) -> bytes:
        """Fetch one: the plan file that an apply takes, or the source archive."""
        ...

    async def acknowledge_cancel(self) -> None:
        """Say that the tool is being stopped. Irrevocable."""
        ...

    async def done(self, done: Done) -> None:
        """Report the end. After it the token is void."""
        ...
