"""Getting JSON of the engine into Python, and its members in the types that they should have."""

from typing import Any, TypeGuard, cast

from pydantic_core import from_json

Json = dict[str, Any]

LARGEST = 256 * 1024 * 1024
"""Bytes of a document, at most: it takes several times as many once it is read."""


class Unreadable(Exception):
    """The document is not what the engine writes. Says where it is wrong, and never what stands there."""


def read_document(document: bytes) -> Json:
    """The document as Python values.

    Raises:
        Unreadable: it is too large, no JSON, nested too deep, or of a format that is not known.
    """
    if len(document) > LARGEST:
        raise Unreadable("the document is too large")
    try:
        read: object = from_json(document, allow_inf_nan=False, cache_strings="keys")
    except ValueError:
        # The message of the parser may quote the document, so it goes no further.
        raise Unreadable("the document is not JSON, or nested too deep") from None
    found = an_object(read)
    version = found.get("format_version")
    if not isinstance(version, str) or version.partition(".")[0] not in {"0", "1"}:
        raise Unreadable("the format of the document is not known")
    return found


def an_object(value: object) -> Json:
    """The value as an object; nothing is an empty one.

    Raises:
        Unreadable: it is something else.
    """
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise Unreadable("an object was expected")
    return cast("Json", value)


def objects(value: object) -> list[Json]:
    """The value as an array of objects; nothing is an empty one.

    Raises:
        Unreadable: it is something else.
    """
    return [an_object(each) for each in an_array(value)]


def an_array(value: object) -> list[Any]:
    """The value as an array; nothing is an empty one.

    Raises:
        Unreadable: it is something else.
    """
    if value is None:
        return []
    if not isinstance(value, list):
        raise Unreadable("an array was expected")
    return cast("list[Any]", value)


def a_text(value: object) -> str:
    """The value as a string.

    Raises:
        Unreadable: it is something else.
    """
    if not isinstance(value, str):
        raise Unreadable("a string was expected")
    return value


def texts(value: object) -> list[str]:
    """The value as an array of strings; nothing is an empty one.

    Raises:
        Unreadable: it is something else.
    """
    return [a_text(each) for each in an_array(value)]


def a_text_or_none(value: object) -> str | None:
    """The value as a string that may be missing or empty; empty is none.

    Raises:
        Unreadable: it is something else.
    """
    return None if value is None or value == "" else a_text(value)


def is_object(value: object) -> TypeGuard[Json]:
    """Whether a JSON value is an object."""
    return isinstance(value, dict)


def is_array(value: object) -> TypeGuard[list[Any]]:
    """Whether a JSON value is an array."""
    return isinstance(value, list)
