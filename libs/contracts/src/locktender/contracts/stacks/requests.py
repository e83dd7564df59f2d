"""What people ask of stacks. Secrets come in here and never go out."""

from typing import Annotated, Literal

from pydantic import AfterValidator, Field, SecretStr, StrictBool, StrictInt, model_validator
from pydantic_core import PydanticCustomError

from locktender.contracts.stacks.models import (
    Addresses,
    Commit,
    Digest,
    FolderPath,
    Labels,
    Name,
    Note,
    QueuePolicy,
    SourceSpec,
    StackWire,
    spelled,
)
from locktender.contracts.stacks.vocabulary import AutoApproveMode, EngineChoice

Description = Annotated[str, Field(max_length=2000)]
GitToken = Annotated[
    SecretStr,
    Field(min_length=1, max_length=4096, description="For a private repository. Kept encrypted, and never shown."),
]

_VISIBLE = r"[\x21-\x7e]+"


def _is_visible(token: SecretStr) -> SecretStr:
    spelled(_VISIBLE, "invalid_token", "a token has visible ASCII characters, without spaces")(token.get_secret_value())
    return token


Capacity = Annotated[StrictInt, Field(ge=1, le=10_000)]
CheckedGitToken = Annotated[GitToken, AfterValidator(_is_visible)]


class StackCreate(StackWire):
    """A new stack."""

    name: Name
    project: Name = "default"
    description: Description = ""
    source: SourceSpec
    engine: EngineChoice = EngineChoice.AUTO
    runner_group: Name = "default"
    labels: Labels = Field(default=(), description="What a runner group has to offer to run this stack.")
    auto_approve: AutoApproveMode = Field(
        default=AutoApproveMode.MANUAL, description="Anything but `manual` needs the right to confirm, too."
    )
    policy: QueuePolicy = QueuePolicy()
    git_token: CheckedGitToken | None = None


class StackUpdate(StackWire):
    """Changes to a stack. Members that are absent stay as they are; a name and an id never change."""

    project: Name | None = None
    description: Description | None = None
    source: SourceSpec | None = None
    engine: EngineChoice | None = None
    runner_group: Name | None = None
    labels: Labels | None = None
    auto_approve: AutoApproveMode | None = None
    policy: QueuePolicy | None = Field(default=None, description="Takes the place of all of the old one.")
    git_token: CheckedGitToken | None = Field(default=None, description="Null, when given: forget the token.")


class VariableSet(StackWire):
    """The value of a variable. Its kind and its name are in the address."""

    value: SecretStr = Field(
        max_length=100_000,
        description="Of an input variable that is no string: HCL or JSON, as in `TF_VAR_…`. At most 100,000 bytes. "
        "Of a token: its audience, 1 to 255 visible ASCII characters.",
    )
    sensitive: StrictBool = Field(
        default=False,
        description="Kept encrypted and never shown again. A name that sounds secret makes it sensitive anyway. "
        "Audiences of tokens are never sensitive.",
    )


class NarrowedRequest(StackWire):
    """What a plan is restricted to, by addresses of resources."""

    targets: Addresses = Field(default=(), description="Only these, and what they depend on. Not with `excludes`.")
    excludes: Addresses = Field(default=(), description="All but these, and what depends on them.")
    replaces: Addresses = Field(default=(), description="Made anew, whether they changed or not.")

    @model_validator(mode="after")
    def _not_both(self) -> "NarrowedRequest":
        if self.targets and self.excludes:
            raise PydanticCustomError("targets_or_excludes", "give targets or excludes, not both")
        return self


class DeploymentCreate(NarrowedRequest):
    """A new deployment of a stack."""

    mode: Literal["plan", "destroy", "refresh", "plan_unlocked"] = Field(
        default="plan",
        description="`plan_unlocked` only looks: it neither waits for others nor holds them up, and cannot be applied.",
    )
    commit: Commit | None = Field(default=None, description="Default: what the ref of the stack stands for now.")
    note: Note = ""


class LocalPlan(NarrowedRequest):
    """A plan of a working tree that was uploaded as an archive. It only looks."""

    sha256: Digest = Field(description="Of the uploaded archive.")
    path: FolderPath = "."
    commit: Commit | None = Field(default=None, description="What the working tree stands on. Shown, and not fetched.")
    dirty: StrictBool | None = Field(default=None, description="Whether the tree differs from that commit.")
    note: Note = ""


class RunCommand(StackWire):
    """A script to run with the credentials of a stack. It is never logged and never shown."""

    script: SecretStr = Field(min_length=1, max_length=65_536)
    commit: Commit | None = Field(default=None, description="Default: what the ref of the stack stands for now.")
    note: Note = ""


class ConfirmApply(StackWire):
    """Apply what was planned: exactly that plan, or nothing."""

    plan_digest: Digest = Field(description="`run.binding.planDigest` of the plan that was read.")


class Replan(NarrowedRequest):
    """Plan once more, differently. At least one member has to name something."""

    @model_validator(mode="after")
    def _something(self) -> "Replan":
        if not (self.targets or self.excludes or self.replaces):
            raise PydanticCustomError("nothing_named", "name targets, excludes or replaces")
        return self


class RunnerGroupCreate(StackWire):
    """A new pool of remote runners."""

    name: Name
    labels: Labels = ()
    capacity: Capacity = Field(default=10, description="Runs at once, at most.")


class RunnerGroupUpdate(StackWire):
    """Changes to a pool of remote runners. Members that are absent stay as they are; its name never changes."""

    labels: Labels | None = Field(default=None, description="Take the place of all of the old ones.")
    capacity: Capacity | None = Field(default=None, description="Runs at once, at most. What runs already goes on.")


class TokenRotation(StackWire):
    """A new token for a pool of remote runners."""

    keep_old_seconds: Annotated[StrictInt, Field(ge=0, le=604_800)] = Field(
        default=0, description="How long the token of now stays valid beside the new one; 0: it ends at once."
    )
    again: StrictBool = Field(
        default=False,
        description="Nobody has the token of now, as the answer with it was lost: where an older one is still valid, "
        "that one is kept, and the token of now ends at once.",
    )
