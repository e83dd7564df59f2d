"""Query parameters and path identifiers, each read strictly."""

import re
from collections.abc import Mapping
from enum import StrEnum
from typing import Any, TypeVar
from uuid import UUID

from litestar import Request

from locktender.contracts.kernel.errors import Finding, NotFound, Pointer, Rejected
from locktender.contracts.kernel.ids import NAME_PATTERN

E = TypeVar("E", bound=StrEnum)

_UUID = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_NAME = re.compile(NAME_PATTERN.removesuffix("$"))
_NUMBER = re.compile(r"[0-9]{1,18}")


class Query:
    """The query parameters of one request. Each reader raises `Rejected` on a bad value, and never repeats it."""

    def __init__(self, request: Request[Any, Any, Any]) -> None:
        self._values = request.query_params

    def one(self, name: str) -> str | None:
        """The only value of a parameter; None without one."""
        values = self._values.getall(name, [])
        if len(values) > 1:
            raise _refused(f"the parameter `{name}` is given more than once", "repeated-parameter")
        return values[0] if values else None

    def number(self, name: str, default: int, *, least: int, most: int) -> int:
        """A whole number within bounds."""
        text = self.one(name)
        if text is None:
            return default
        if not _NUMBER.fullmatch(text) or not least <= int(text) <= most:
            raise _refused(f"the parameter `{name}` has to be a number from {least} to {most}", f"invalid-{name}")
        return int(text)

    def name(self, name: str) -> str | None:
        """A name as projects have it."""
        text = self.one(name)
        if text is not None and not is_name(text):
            raise _refused(f"the parameter `{name}` has to be lower-case letters, digits and dashes", f"invalid-{name}")
        return text

    def choices(self, name: str, kind: type[E]) -> tuple[E, ...]:
        """Every value of a repeated parameter, each once."""
        try:
            return tuple(dict.fromkeys(kind(value) for value in self._values.getall(name, [])))
        except ValueError:
            known = ", ".join(kind)
            raise _refused(f"the parameter `{name}` has to be one of {known}", f"invalid-{name}") from None


def is_name(text: str) -> bool:
    """Whether `text` can be the name of a workspace or project."""
    return _NAME.fullmatch(text) is not None


def row_id(path_params: Mapping[str, object], name: str) -> UUID:
    """The identifier in a path.

    Raises:
        NotFound: it is not an identifier, so nothing can be there.
    """
    text = str(path_params[name])
    if not _UUID.fullmatch(text):
        raise NotFound("resource", "with this identifier")
    return UUID(text)


def _refused(message: str, code: str) -> Rejected:
    return Rejected([Finding(Pointer(""), message, code)])
