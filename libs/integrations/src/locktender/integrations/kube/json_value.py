"""The one shape that everything from manifests and clusters has: plain JSON."""

from collections.abc import Iterator, Mapping, Sequence
from typing import TypeAlias, cast

Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"
JsonObject: TypeAlias = dict[str, Json]


def as_object(value: object) -> JsonObject:
    """`value` when it is a JSON object, else an empty one. For reading optional parts of foreign objects."""
    return cast("JsonObject", value) if isinstance(value, dict) else {}


def as_array(value: object) -> list[Json]:
    """`value` when it is a JSON array, else an empty one."""
    return cast("list[Json]", value) if isinstance(value, list) else []


def as_text(value: object) -> str:
    """`value` when it is a string, else an empty one."""
    return value if isinstance(value, str) else ""


def copied(value: Json) -> Json:
    """A deep copy. Depth is bounded by the reader, so recursion is."""
    if isinstance(value, dict):
        return {key: copied(item) for key, item in value.items()}
    if isinstance(value, list):
        return [copied(item) for item in value]
    return value


def leaf_texts(value: object) -> Iterator[str]:
    """Every string inside `value` that is not a key."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for item in cast("Mapping[str, object]", value).values():
            yield from leaf_texts(item)
    elif isinstance(value, Sequence):
        for item in cast("Sequence[object]", value):
            yield from leaf_texts(item)
