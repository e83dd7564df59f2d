"""An object as people may see it: values that are secret, or look like it, are replaced by what only compares."""

import hashlib
import json
import re
from dataclasses import dataclass, field
from typing import TypeAlias

from locktender.contracts.kernel.sensitive import is_sensitive_name
from locktender.integrations.kube.json_value import Json, JsonObject, as_array, as_object, as_text
from locktender.integrations.kube.secrets import LAST_APPLIED, is_secret

SHOWN = "(withheld)"
"""Stands where a value is not shown."""


@dataclass(frozen=True, slots=True)
class Withheld:
    """A value that is not shown. Two are equal when the values are."""

    digest: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class Lines:
    """A text of more than one line. Telling lines are withheld, the others are as they are."""

    lines: tuple["str | Withheld", ...]


Masked: TypeAlias = "bool | int | float | str | Withheld | Lines | list[Masked] | dict[str, Masked] | None"

_VALUES = ("data", "stringData")
# What only says where a secret is. Such an object may be shown under a name that sounds like one.
_REFERENCE = frozenset({
    "name", "namespace", "key", "optional", "secretName", "items", "defaultMode", "path", "mode", "apiVersion",
    "apiGroup", "kind", "audience", "expirationSeconds", "fieldPath", "uid", "resourceVersion",
})  # fmt: skip
_HARMLESS = frozenset({"secretName", "secretNamespace", "topologyKey"})
# A name is the whole word, and what follows it is not used up: a text takes no more than its length, however it is made
# up, and each of `--set=password=…` is a name.
_ASSIGNED = re.compile(
    r"""(?<![\w.-])(?:(?![A-Za-z])[\w.-])*+([A-Za-z][\w.-]*+)["']?\s*+(?:=|:\s++|:(?=["']))(?=\s*+["']?\S)"""
)
_PRIVATE_KEY = re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----")
_TELLING = re.compile(r"://[^/\s:@]*:[^/\s@]+@|\b[Bb]earer\s+\S{8}")
_OPTION = re.compile(r"-{1,2}([A-Za-z][\w.-]*)")


def masked(body: JsonObject) -> dict[str, Masked]:
    """`body` as it may be shown.

    Withheld are: everything in `data` and `stringData` of a `Secret`, kubectl's copy of any object, values whose names
    say that they are secret (`dbPassword: …`, `{name: DB_PASSWORD, value: …}`, `--token=…`, `--token …`), private
    keys, and addresses with a password. No promise: a secret under an innocent name looks like any other value.
    """
    secret = is_secret(body)
    return {name: _each(value) if secret and name in _VALUES else _masked(name, value) for name, value in body.items()}


def withhold(value: Json) -> Withheld:
    """What stands for `value`."""
    text = json.dumps(value, sort_keys=True, ensure_ascii=False)
    return Withheld(hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest())


def _each(holder: Json) -> Masked:
    """Names stay visible, so that people see which value changes."""
    return {name: withhold(value) for name, value in holder.items()} if isinstance(holder, dict) else withhold(holder)


def _masked(name: str, value: Json) -> Masked:
    if isinstance(value, dict):
        return withhold(value) if _is_sensitive(name) and not _refers(value) else _object(value)
    if isinstance(value, list):
        # Scalars of a list count as called by the name of the list.
        return [withhold(item) if _follows_option(value, place) else _masked(name, item)
                for place, item in enumerate(value)]  # fmt: skip
    if isinstance(value, str):
        return withhold(value) if _is_sensitive(name) else _text(value)
    hidden = isinstance(value, int | float) and not isinstance(value, bool) and _is_sensitive(name)
    return withhold(value) if hidden else value


def _object(value: JsonObject) -> Masked:
    named = is_sensitive_name(as_text(value.get("name")))
    return {
        name: withhold(inner) if (named and name == "value") or name == LAST_APPLIED else _masked(name, inner)
        for name, inner in value.items()
    }


def _text(text: str) -> Masked:
    if _PRIVATE_KEY.search(text):
        return withhold(text)
    if "\n" not in text.rstrip("\n"):
        return withhold(text) if _tells(text) else text
    return Lines(tuple(withhold(line) if _tells(line) else line for line in text.split("\n")))


def _tells(text: str) -> bool:
    return _TELLING.search(text) is not None or any(
        is_sensitive_name(match.group(1)) for match in _ASSIGNED.finditer(text)
    )


def _follows_option(items: list[Json], place: int) -> bool:
    """Whether an argument is the value of the option before it, and that is secret."""
    before = _OPTION.fullmatch(as_text(items[place - 1])) if place else None
    return before is not None and is_sensitive_name(before.group(1))


def _is_sensitive(name: str) -> bool:
    return name not in _HARMLESS and is_sensitive_name(name)


def _refers(value: JsonObject) -> bool:
    return all(_REFERENCE.issuperset(each) for each in (value, *map(as_object, as_array(value.get("items")))))
