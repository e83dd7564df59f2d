"""What requests and answers about stacks share: names, sources, policies, restrictions. JSON is camelCase."""

import re
from collections.abc import Callable
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StrictInt
from pydantic.alias_generators import to_camel
from pydantic_core import PydanticCustomError

from locktender.contracts.kernel.ids import NAME_PATTERN


class StackWire(BaseModel):
    """A JSON object: camelCase outside, snake_case inside, no unknown members, immutable."""

    model_config = ConfigDict(
        defer_build=True, alias_generator=to_camel, populate_by_name=True, extra="forbid", frozen=True
    )


def spelled(pattern: str, code: str, words: str) -> Callable[[str], str]:
    """A validator: the whole text is as `pattern`, or it is refused in `words`, which never repeat it."""
    shape = re.compile(pattern)

    def check(text: str) -> str:
        if shape.fullmatch(text) is None:
            raise PydanticCustomError(code, words)  # pyright: ignore[reportArgumentType]  # its type wants a literal
        return text

    return check


_COMMIT = "[0-9a-f]{40}|[0-9a-f]{64}"
_DIGEST = "[0-9a-f]{64}"
_LABEL = "[A-Za-z0-9](?:[A-Za-z0-9._-]{0,61}[A-Za-z0-9])?"
_PLAIN_PATH = r"\.|(?:[A-Za-z0-9_@+=,-][A-Za-z0-9._@+=, -]*)(?:/[A-Za-z0-9_@+=,-][A-Za-z0-9._@+=, -]*)*"
_ADDRESS = r"[^\x00-\x20\x7f-][^\x00-\x1f\x7f]*"

Name = Annotated[str, Field(pattern=NAME_PATTERN, max_length=63)]
"""A DNS label: the name of a stack, a project or a runner group."""

Commit = Annotated[
    str,
    Field(json_schema_extra={"pattern": f"^(?:{_COMMIT})$"}),
    AfterValidator(spelled(_COMMIT, "invalid_commit", "give the whole id of the commit: 40 or 64 hexadecimal digits")),
]
"""A commit by its whole id."""

Digest = Annotated[
    str,
    Field(json_schema_extra={"pattern": f"^{_DIGEST}$"}),
    AfterValidator(spelled(_DIGEST, "invalid_digest", "a SHA-256 has 64 hexadecimal digits, in lower case")),
]
"""A SHA-256, hex."""

Label = Annotated[
    str,
    Field(json_schema_extra={"pattern": f"^{_LABEL}$"}),
    AfterValidator(
        spelled(_LABEL, "invalid_label", "use letters, digits, dots, dashes and underscores, at most 63 of them")
    ),
]
"""What a runner group offers, and a stack asks for."""

FolderPath = Annotated[
    str,
    Field(max_length=500, json_schema_extra={"pattern": f"^(?:{_PLAIN_PATH})$"}),
    AfterValidator(spelled(_PLAIN_PATH, "invalid_path", "give a plain relative path, such as `infra/network`, or `.`")),
]
"""A folder inside a source; `.` is the source itself."""

ResourceAddress = Annotated[
    str,
    Field(max_length=1000, json_schema_extra={"pattern": f"^{_ADDRESS}$"}),
    AfterValidator(
        spelled(_ADDRESS, "invalid_address", 'give the address of a resource, such as `module.net.aws_vpc.main["a"]`')
    ),
]
"""A resource as the engine names it. It can be nothing that looks like an option."""

Addresses = Annotated[tuple[ResourceAddress, ...], Field(max_length=200)]

_YEAR = 366 * 86_400
Seconds = Annotated[StrictInt, Field(gt=0, le=_YEAR)]
Labels = Annotated[tuple[Label, ...], Field(max_length=32)]
Note = Annotated[str, Field(max_length=500)]


class GitSource(StackWire):
    """A folder of a repository. Every deployment is pinned to an exact commit when it is made."""

    kind: Literal["git"] = "git"
    url: str = Field(
        min_length=1,
        max_length=2000,
        description="https://host/path, ssh://user@host/path or user@host:path, without credentials.",
    )
    ref: str = Field(default="HEAD", min_length=1, max_length=200, description="A branch, a tag, or `HEAD`.")
    path: FolderPath = "."


class ArchiveSource(StackWire):
    """A folder of an uploaded tar.gz."""

    kind: Literal["archive"] = "archive"
    sha256: Digest | None = Field(
        default=None, description="Of the archive. Null until one is uploaded; until then nothing can be deployed."
    )
    path: FolderPath = "."


SourceSpec = Annotated[GitSource | ArchiveSource, Field(discriminator="kind")]


class QueuePolicy(StackWire):
    """When waiting deployments of a stack are skipped by themselves. Null: never."""

    confirmation_timeout_seconds: Seconds | None = Field(
        default=None, description="How long a plan waits for a confirmation."
    )
    queued_timeout_seconds: Seconds | None = Field(
        default=None, description="How long a deployment waits behind others of its stack."
    )
    supersede_after_seconds: Annotated[StrictInt, Field(ge=0, le=_YEAR)] | None = Field(
        default=None, description="A new deployment skips waiting ones that are at least this old. Zero: all of them."
    )
