"""A request that is allowed, and its answer."""

from dataclasses import dataclass, field

from locktender.embedded.cluster.objects import Key
from locktender.embedded.cluster.refusal import bad_request
from locktender.embedded.cluster.request import Target
from locktender.embedded.cluster.shapes import Obj
from locktender.embedded.cluster.strictness import check_fields, strictness
from locktender.embedded.cluster.writes import Author


@dataclass(frozen=True, slots=True)
class Answer:
    """A complete answer. `submitted` is the object as the client sent it, for the ledger."""

    code: int
    body: Obj
    headers: dict[str, str] = field(default_factory=dict[str, str])
    submitted: Obj = field(default_factory=dict[str, object])


@dataclass(frozen=True, slots=True)
class Call:
    """A request that is allowed, with its parameters and body."""

    target: Target
    query: dict[str, str]
    content_type: str
    agent: str
    raw: bytes

    @property
    def key(self) -> Key:
        return Key(self.target.resource.qualified, self.target.namespace, self.target.name)

    def author(self) -> Author:
        manager = self.query.get("fieldManager") or self.agent.split("/")[0] or "unknown"
        return Author(manager[:128], self.target.subresource, dry_run=is_dry(self.query))

    def warned(self, body: Obj) -> dict[str, str]:
        """The headers that warn about unknown fields of a body.

        Raises:
            Refusal: 400 under strict validation.
        """
        return warning(check_fields(self.target.resource, body, strictness(self.query)))


def is_dry(query: dict[str, str]) -> bool:
    """Pass, or refuse.

    Raises:
        Refusal: 400 for a dry run other than `All`.
    """
    wanted = query.get("dryRun", "")
    if wanted not in ("", "All"):
        raise bad_request(f"dryRun {wanted[:40]} is not All")
    return wanted == "All"


def warning(texts: list[str]) -> dict[str, str]:
    """The header that tells warnings, none for none."""
    told = ", ".join('299 - "' + text.replace("\\", "\\\\").replace('"', '\\"') + '"' for text in texts)
    return {"warning": told} if told else {}
