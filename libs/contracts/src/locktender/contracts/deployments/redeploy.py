"""What people see before they redeploy: may they, what would be overwritten, and what was deployed."""

from typing import Annotated, Literal
from uuid import UUID

from pydantic import Field

from locktender.contracts.deployments.inputs import InputField
from locktender.contracts.deployments.models import ApplyOptions, Target
from locktender.contracts.deployments.wire import ObjectRef, Wire


class RedeployView(Wire):
    """Whether a task can be redeployed at this moment, and what that means."""

    allowed: bool
    reason: str | None = Field(description="Why not, in one line.")
    source_needed: bool = Field(
        description="It cannot be redeployed as it is, because what was withheld is more than can be asked for again; "
        "send its source anew."
    )
    warning: str | None = Field(description="What would be overwritten, in one line.")
    applied: tuple[ObjectRef, ...] = Field(description="What this task has applied, or may have.")
    asks: tuple[InputField, ...] = Field(description="What a redeploy asks for again, because it is never stored.")


class StoredManifests(Wire):
    """Manifests as they are stored: secret values are placeholders."""

    kind: Literal["manifests"] = "manifests"
    manifests: str = Field(description="YAML.")
    sensitive_keys: dict[str, tuple[str, ...]] = Field(description="Keys of Secrets, by the index of the document.")


class StoredTemplate(Wire):
    """A template as it was deployed, without the values of secret inputs."""

    kind: Literal["template"] = "template"
    template: str | None = Field(description="Its name in the catalogue. Null for one that was sent as text.")
    text: str | None = Field(description="The template itself, where it was sent as text.")
    form: str
    digest: str
    revision: str | None
    inputs: dict[str, str]
    sensitive_keys: tuple[str, ...] = Field(description="Inputs whose values were withheld.")
    variables: dict[str, str] = Field(description="The platform variables.")


class StoredNothing(Wire):
    """Nothing to deploy."""

    kind: Literal["noop"] = "noop"


class SourceView(Wire):
    """What a task deploys, and where: what an edited redeploy begins with."""

    id: UUID
    display_name: str
    source: Annotated[StoredManifests | StoredTemplate | StoredNothing, Field(discriminator="kind")]
    target: Target
    server: str | None
    apply: ApplyOptions | None
