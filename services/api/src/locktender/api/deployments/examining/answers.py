"""Submitted values held against the fields of a form alone. No message ever repeats a value."""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from locktender.api.http.body import pointer
from locktender.contracts.deployments.inputs import InputField, InputType, Scalar
from locktender.contracts.kernel.errors import Finding, Pointer
from locktender.integrations.templates.inputs import LONGEST, SHORTEST_SECRET

_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?")
_UNUSABLE = re.compile("[\x00-\x08\x0b-\x1f\x7f\ufffe\uffff]")


@dataclass(frozen=True, slots=True)
class Answered:
    """The accepted values as texts, required fields without one, and what is wrong with the others."""

    values: dict[str, str] = field(repr=False)
    missing: tuple[str, ...]
    findings: tuple[Finding, ...]


def answered(fields: Sequence[InputField], given: Mapping[str, Scalar], place: str) -> Answered:
    """Which values can be used for these fields. Keys that are not asked for are ignored.

    `place` is the name of the member that holds the values, as a pointer.
    """
    values: dict[str, str] = {}
    findings: list[Finding] = []
    missing: list[str] = []
    for each in fields:
        if each.key not in given:
            if each.required and not each.default:
                missing.append(each.key)
            continue
        text = as_input(given[each.key])
        wrong = next(((code, words) for code, holds, words in _rules(each, text) if holds), None)
        if wrong is None:
            values[each.key] = text
        else:
            at = Pointer(f"{place}{pointer(each.key)}")
            findings.append(Finding(at, f"{each.key[:60]} {wrong[1]}", wrong[0]))
    return Answered(values, tuple(missing), tuple(findings))


def as_input(value: Scalar) -> str:
    """A submitted value as the text that a run sees."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and math.isfinite(value) and value.is_integer() and abs(value) < 1e15:  # noqa: PLR2004 - beyond it, digits are lost
        return str(int(value))
    return str(value)


def _rules(asked: InputField, text: str) -> Iterator[tuple[str, bool, str]]:
    blank = not text.strip()
    yield "too-long", len(text.encode("utf-8", "surrogatepass")) > LONGEST, f"may have up to {LONGEST} bytes"
    yield "unusable-character", bool(_UNUSABLE.search(text)), "has a control character; only tabs and line ends may be"
    yield "blank", blank and asked.required, "is required and must not be blank"
    if blank:
        return
    match asked.type:
        case InputType.NUMBER:
            yield "not-a-number", not _NUMBER.fullmatch(text.strip()), "must be a number, such as 3 or 0.5"
        case InputType.BOOLEAN:
            yield "not-a-boolean", text.strip() not in {"true", "false"}, "must be true or false"
        case InputType.CHOICE:
            yield "not-an-option", text not in asked.options, f"must be one of {', '.join(asked.options)[:200]}"
        case InputType.STRING:
            pass
    short = asked.sensitive and len(text) < SHORTEST_SECRET
    yield "too-short", short, f"needs {SHORTEST_SECRET} characters or more"
