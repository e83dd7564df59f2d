"""Reading objects of a cluster that may lack anything, or hold anything."""

from collections.abc import Iterator, Mapping, Sequence
from typing import TypeAlias, cast

Observed: TypeAlias = Mapping[str, object]
_TEXT_LIMIT = 300


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


def text(value: Observed, *path: str) -> str:
    """The text under `path`, on one line and bounded; empty when there is none."""
    found = part(value, *path[:-1]).get(path[-1])
    if not isinstance(found, str):
        return ""
    line = " ".join(found[: _TEXT_LIMIT * 2].split())
    return line if len(line) <= _TEXT_LIMIT else f"{line[:_TEXT_LIMIT]}..."


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


def condition(value: Observed, kind: str) -> Observed:
    """The condition of a type; an empty mapping when there is none."""
    for found in parts(value, "status", "conditions"):
        if found.get("type") == kind:
            return found
    return {}


def is_true(found: Observed) -> bool:
    """Whether a condition holds."""
    return found.get("status") == "True"


def is_false(found: Observed) -> bool:
    """Whether a condition is known not to hold."""
    return found.get("status") == "False"


def observed_current(value: Observed) -> bool:
    """Whether the status speaks of the present specification."""
    return number(value, "status", "observedGeneration") >= number(value, "metadata", "generation", default=1)


def labels(value: Observed) -> Iterator[tuple[str, str]]:
    """The labels of an object."""
    for key, item in part(value, "metadata", "labels").items():
        if isinstance(item, str):
            yield key, item
