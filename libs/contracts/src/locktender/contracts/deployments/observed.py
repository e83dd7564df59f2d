"""Reading objects of a cluster that may lack anything, or hold anything."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias, cast

Observed: TypeAlias = Mapping[str, object]
_TEXT_LIMIT = 240
_DIGITS = 19


@dataclass(frozen=True, slots=True)
class Related:
    """What else the cluster says that bears on one object. Each part may be missing; verdicts are then less telling.

    Attributes:
        pods: what `pod_selector` selects; pods of earlier specifications may be among them.
        events: events about the object and about its pods, oldest first.
        storage_classes: by name; None when they were not read.
        endpoint_slices: those of a Service; None when they were not read.
    """

    pods: Sequence[Observed] = ()
    events: Sequence[Observed] = ()
    storage_classes: Mapping[str, Observed] | None = None
    endpoint_slices: Sequence[Observed] | None = None


NOTHING = Related()
"""Nothing else is known."""


def part(value: Observed, *path: str) -> Observed:
    """The mapping under `path`; an empty one when there is none."""
    for step in path:
        inner = value.get(step)
        if not isinstance(inner, Mapping):
            return {}
        value = cast("Observed", inner)
    return value


def parts(value: Observed, *path: str) -> list[Observed]:
    """The mappings in the list under `path`."""
    listed = part(value, *path[:-1]).get(path[-1])
    if not isinstance(listed, Sequence) or isinstance(listed, str | bytes):
        return []
    return [cast("Observed", item) for item in cast("Sequence[object]", listed) if isinstance(item, Mapping)]


def clipped(said: str, limit: int) -> str:
    """`said` on one line of at most `limit` characters."""
    line = " ".join(said[: limit * 2].split())
    return line if len(line) <= limit else f"{line[: limit - 3]}..."


def text(value: Observed, *path: str) -> str:
    """The text under `path`, on one line and bounded; empty when there is none."""
    found = part(value, *path[:-1]).get(path[-1])
    return clipped(found, _TEXT_LIMIT) if isinstance(found, str) else ""


def texts(value: Observed, *path: str) -> list[str]:
    """The texts in the list under `path`."""
    listed = part(value, *path[:-1]).get(path[-1])
    return [item for item in cast("list[object]", listed) if isinstance(item, str)] if isinstance(listed, list) else []


def number(value: Observed, *path: str, default: int = 0) -> int:
    """The integer under `path`, or `default`."""
    found = part(value, *path[:-1]).get(path[-1])
    return found if isinstance(found, int) and not isinstance(found, bool) else default


def flag(value: Observed, *path: str) -> bool:
    """Whether `path` holds true."""
    return part(value, *path[:-1]).get(path[-1]) is True


def name_of(value: Observed) -> str:
    """`metadata.name`."""
    return text(value, "metadata", "name")


def group_of(value: Observed) -> str:
    """The API group; empty for the core group."""
    group, slash, _ = text(value, "apiVersion").partition("/")
    return group if slash else ""


def annotation(value: Observed, name: str) -> str:
    """An annotation; empty when there is none."""
    found = part(value, "metadata", "annotations").get(name)
    return found if isinstance(found, str) else ""


def generation_of(value: Observed) -> int:
    """`metadata.generation`; objects that count no generations are of their first."""
    return number(value, "metadata", "generation", default=1)


def conditions_of(value: Observed, holder: Observed | None = None) -> list[Observed]:
    """The conditions of `value`, or those that a part of its status holds, without those of an earlier generation."""
    held = part(value, "status") if holder is None else holder
    now = generation_of(value)
    return [found for found in parts(held, "conditions") if number(found, "observedGeneration", default=now) >= now]


def condition(value: Observed, kind: str, holder: Observed | None = None) -> Observed:
    """The present condition of a type; an empty mapping when there is none."""
    for found in conditions_of(value, holder):
        if found.get("type") == kind:
            return found
    return {}


def is_true(found: Observed) -> bool:
    """Whether a condition holds."""
    return found.get("status") == "True"


def is_false(found: Observed) -> bool:
    """Whether a condition is known not to hold."""
    return found.get("status") == "False"


def observed_generation(value: Observed) -> int | None:
    """The generation that the status speaks of; None when it names none. Some controllers write it as a text."""
    found = part(value, "status").get("observedGeneration")
    if isinstance(found, str) and found.isdecimal() and found.isascii() and len(found) < _DIGITS:
        return int(found)
    return found if isinstance(found, int) and not isinstance(found, bool) else None


def observed_current(value: Observed) -> bool:
    """Whether the status speaks of the present specification."""
    seen = observed_generation(value)
    return seen is not None and seen >= generation_of(value)


def labels(value: Observed) -> Iterator[tuple[str, str]]:
    """The labels of an object."""
    for key, item in part(value, "metadata", "labels").items():
        if isinstance(item, str):
            yield key, item
