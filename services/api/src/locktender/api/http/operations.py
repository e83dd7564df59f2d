"""What the HTTP interface can do, as data: one row an operation. The OpenAPI document is made from it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from pydantic import BaseModel

from locktender.contracts.kernel.problems import Problem

JSON = "application/json"
SSE = "text/event-stream"


@dataclass(frozen=True, slots=True)
class Answer:
    """A success. `schema` names a component; `headers` name components, too."""

    status: int
    description: str
    schema: str | None = None
    media_type: str = JSON
    headers: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Operation:
    """One method at one address. `parameters` name components; `guarded` ones need a token and a grant.

    `body` names the component of a JSON body; `bytes_body` is the media type of one that is passed on as it is, which
    `may_be_empty` says need not be there.
    """

    method: str
    path: str
    name: str
    summary: str
    answers: tuple[Answer, ...]
    problems: tuple[Problem, ...] = ()
    parameters: tuple[str, ...] = ()
    body: str | None = None
    bytes_body: str | None = None
    may_be_empty: bool = False
    guarded: bool = True

    def all_problems(self) -> tuple[Problem, ...]:
        """Every problem that this operation can answer with."""
        guard = (Problem.UNAUTHENTICATED, Problem.FORBIDDEN, Problem.NOT_FOUND) if self.guarded else ()
        return tuple(dict.fromkeys((*self.problems, *guard, Problem.INTERNAL, Problem.UNAVAILABLE)))


@dataclass(frozen=True, slots=True)
class Part:
    """What one context adds to the document.

    Attributes:
        models: what reads a body (`validation`) or writes one (`serialization`).
        parameters: components by name, beside those that every context shares.
        in_path: the component of a place in a path, such as `{stack}`.
    """

    operations: tuple[Operation, ...]
    models: tuple[tuple[type[BaseModel], Literal["validation", "serialization"]], ...] = ()
    parameters: Mapping[str, dict[str, Any]] = field(default_factory=dict[str, dict[str, Any]])
    in_path: Mapping[str, str] = field(default_factory=dict[str, str])
