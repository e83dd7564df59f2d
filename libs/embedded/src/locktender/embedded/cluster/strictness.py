"""`fieldValidation`: what is said about fields that a kind does not have."""

from typing import Literal, TypeAlias

from locktender.embedded.cluster.refusal import bad_request
from locktender.embedded.cluster.resources import Resource
from locktender.embedded.cluster.schema.fields import surplus
from locktender.embedded.cluster.schema.shaping import shape_of
from locktender.embedded.cluster.shapes import Obj

Strictness: TypeAlias = Literal["Strict", "Warn", "Ignore"]


def strictness(query: dict[str, str]) -> Strictness:
    """Pass, or refuse.

    Raises:
        Refusal: 400 for a value that does not exist.
    """
    match query.get("fieldValidation") or "Warn":
        case "Strict":
            return "Strict"
        case "Warn":
            return "Warn"
        case "Ignore":
            return "Ignore"
        case other:
            raise bad_request(f"fieldValidation {other[:40]} is not one of Strict, Warn, Ignore")


def check_fields(resource: Resource, obj: Obj, level: Strictness) -> list[str]:
    """Warnings about unknown fields.

    Raises:
        Refusal: 400 that names them all, under `Strict`.
    """
    if level == "Ignore":
        return []
    unknown = [f'unknown field "{path}"' for _, _, path in surplus(shape_of(resource), obj)]
    if unknown and level == "Strict":
        raise bad_request(
            f'{resource.kind} in version "{resource.version}" cannot be handled as a {resource.kind}: '
            f"strict decoding error: {', '.join(unknown)}"
        )
    return unknown
