"""What can be deployed by name, as it is shown: templates, what they ask for, and what they would come to."""

from datetime import datetime

from pydantic import Field

from locktender.contracts.deployments.inputs import InputField, Scalar
from locktender.contracts.deployments.wire import Name, Wire


class TemplateEntry(Wire):
    """A template in the list."""

    name: str
    form: str | None = Field(description="`template`, `kustomize` or `helm`. Null where it cannot be told.")
    title: str
    description: str
    categories: tuple[str, ...]
    digest: str = Field(description="SHA-256 of its files.")
    revision: str | None = Field(description="The commit that it was read from.")
    fault: str | None = Field(description="What is wrong with it. Such a template cannot be deployed.")


class TemplateList(Wire):
    """All templates at one moment."""

    templates: tuple[TemplateEntry, ...]
    revision: str | None = Field(description="The commit of the catalogue, where it is a Git repository.")
    stale_since: datetime | None = Field(description="Since when its repository does not answer.")


class TemplateDetail(Wire):
    """One template, and what it asks for."""

    name: str
    form: str
    title: str
    description: str
    digest: str
    revision: str | None
    about: dict[str, object] = Field(description="What its author says about it: texts, and lists of texts.")
    inputs: tuple[InputField, ...]


class RenderTarget(Wire):
    """Where a template would be deployed; it decides what the platform variables are."""

    namespace: Name = "default"
    server: str | None = Field(default=None, max_length=2048, description="Address of the API server.")


class RenderTemplate(Wire):
    """A request to see what a template would come to."""

    inputs: dict[str, Scalar] = Field(default_factory=dict, max_length=400)
    sensitive_keys: tuple[str, ...] = Field(default=(), max_length=400)
    target: RenderTarget = RenderTarget()


class InputFault(Wire):
    """What is wrong with one value. It was left out of the rendering."""

    pointer: str
    message: str
    code: str


class RenderedTemplate(Wire):
    """What a template would come to. Nothing of it is kept."""

    instance: str = Field(description="A provisional name: each deployment draws its own.")
    documents: str = Field(description="YAML. Values of secret inputs and of Secrets are withheld.")
    missing: tuple[str, ...] = Field(description="Required inputs without a value, and names that nobody set.")
    findings: tuple[InputFault, ...]
