"""The ground under every JSON object of this context, and how a Kubernetes object is named."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

from locktender.contracts.kernel.ids import NAME_PATTERN


class Wire(BaseModel):
    """A JSON object: camelCase outside, snake_case inside, no unknown members, immutable."""

    model_config = ConfigDict(
        defer_build=True, alias_generator=to_camel, populate_by_name=True, extra="forbid", frozen=True
    )


Name = Annotated[str, Field(pattern=NAME_PATTERN, max_length=63)]
"""A DNS label: what Kubernetes takes for a namespace, and we for a project."""


class ObjectRef(Wire):
    """A Kubernetes object by name."""

    api_version: str
    kind: str
    namespace: str | None = None
    name: str

    def __str__(self) -> str:
        where = f"{self.namespace}/" if self.namespace else ""
        return f"{self.kind} {where}{self.name}"
