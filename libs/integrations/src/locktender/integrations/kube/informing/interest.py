"""Which objects somebody wants to know about."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

from locktender.integrations.kube.informing.selecting import Terms, any_equality, matches, parsed
from locktender.integrations.kube.json_value import JsonObject, as_object, as_text

Token: TypeAlias = tuple[str, ...]
"""What an object must show for an interest to be worth asking; makes thousands of interests cheap to search."""

_ANY: Token = ("any",)
_TALKATIVE = {"PersistentVolumeClaim", "CronJob"}
_GENERATED = {"ReplicaSet": 1, "Job": 1, "Pod": 2}
"""How many parts controllers append to a name at most, for the kinds that they name."""


@dataclass(frozen=True, slots=True)
class Scope:
    """What a request to the cluster is narrowed to; empty for all of a namespace."""

    label_selector: str | None = None
    field_selector: str | None = None


@dataclass(frozen=True, slots=True)
class Named:
    """The object of one name."""

    name: str

    @property
    def token(self) -> Token:
        return "name", self.name

    @property
    def scope(self) -> Scope:
        return Scope(field_selector=f"metadata.name={self.name}")

    def wants(self, body: JsonObject) -> bool:
        return name_of(body) == self.name


class Selected:
    """The objects that a label selector selects, as `pod_selector` writes it."""

    def __init__(self, selector: str) -> None:
        self._selector = selector
        self._terms: Terms = parsed(selector)
        equality = any_equality(self._terms)
        self.token: Token = ("label", *equality) if equality else _ANY

    @property
    def scope(self) -> Scope:
        return Scope(label_selector=self._selector)

    def wants(self, body: JsonObject) -> bool:
        return matches(self._terms, as_object(as_object(body.get("metadata")).get("labels")))


@dataclass(frozen=True, slots=True)
class About:
    """Events about an object, and about what controllers made for it under names that begin with its own.

    Warnings alone, except for kinds whose controllers explain themselves by other events.
    """

    kind: str
    name: str

    @property
    def token(self) -> Token:
        return "about", self.name

    @property
    def scope(self) -> Scope:
        return Scope() if self.kind in _TALKATIVE else WARNINGS

    def wants(self, body: JsonObject) -> bool:
        if body.get("type") != "Warning" and self.kind not in _TALKATIVE:
            return False
        regarding = as_object(body.get("involvedObject"))
        kind, name = as_text(regarding.get("kind")), as_text(regarding.get("name"))
        if name == self.name:
            return kind == self.kind
        suffix = name.removeprefix(f"{self.name}-")
        return suffix != name and suffix.count("-") < _GENERATED.get(kind, 0)


Interest: TypeAlias = Named | Selected | About

WARNINGS = Scope(field_selector="type=Warning")


def tokens_of(body: JsonObject) -> Iterator[Token]:
    """Everything by which an interest might find the object."""
    yield _ANY
    yield "name", name_of(body)
    for key, value in as_object(as_object(body.get("metadata")).get("labels")).items():
        yield "label", key, as_text(value)
    about = as_text(as_object(body.get("involvedObject")).get("name"))
    parts = about.split("-") if about else []
    for count in range(1, len(parts) + 1):
        yield "about", "-".join(parts[:count])


def name_of(body: JsonObject) -> str:
    """`metadata.name`."""
    return as_text(as_object(body.get("metadata")).get("name"))
