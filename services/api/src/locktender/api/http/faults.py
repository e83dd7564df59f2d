"""What pydantic found, as findings with pointers. Messages never repeat a submitted value."""

from collections.abc import Sequence
from typing import TypeVar

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from locktender.api.http.body import pointer
from locktender.contracts.kernel.errors import Finding

M = TypeVar("M", bound=BaseModel)

_WORDS = {
    "missing": ("required", "this member is required"),
    "extra_forbidden": ("unknown-member", "there is no such member; remove it, or check its spelling"),
    "string_pattern_mismatch": ("invalid-name", "use lower-case letters, digits and dashes, at most 63 of them"),
    "union_tag_invalid": ("unknown-kind", "the kind is not known; use `manifests`"),
    "union_tag_not_found": ("required", "the member `kind` is required; use `manifests`"),
}


def validated(
    kind: type[M], document: object, tagged: Sequence[str] = (), scalars: Sequence[str] = ()
) -> tuple[M | None, list[Finding]]:
    """The model, or every fault.

    `tagged` names the members that are unions, and `scalars` those whose values are any scalar: pydantic lengthens the
    paths of both, and tells of each kind of scalar that a value is not.
    """
    try:
        return kind.model_validate(document, by_alias=True, by_name=False), []
    except ValidationError as error:
        faults = error.errors(include_url=False, include_input=False, include_context=False)
        return None, list(dict.fromkeys(_finding(fault, tagged, scalars) for fault in faults))


def _finding(fault: ErrorDetails, tagged: Sequence[str], scalars: Sequence[str]) -> Finding:
    path = list(fault["loc"])
    if len(path) > 2 and path[0] in scalars:  # noqa: PLR2004 - member, key, kind of scalar
        return Finding(pointer(*path[:2]), "use a text, a number, true or false", "not-a-scalar")
    if len(path) > 1 and path[0] in tagged:
        del path[1]
    code, message = _WORDS.get(fault["type"], (fault["type"].replace("_", "-"), fault["msg"]))
    return Finding(pointer(*path), message, code)
