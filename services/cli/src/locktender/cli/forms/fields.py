"""A form: what is asked, what of it applies to the answers so far, and whether an answer will do.

The API decides in the end; what is told here is told sooner.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn, assert_never

from locktender.contracts.deployments.inputs import InputField, InputType
from locktender.contracts.kernel.sensitive import is_sensitive_name
from locktender.integrations.templates.expression import Scope, truthy
from locktender.integrations.templates.faults import TemplateFault
from locktender.integrations.templates.worth import value_of

Form = Callable[[Mapping[str, str]], Sequence[InputField]]
"""The answers so far to every field, in order, with its texts as they are for those answers."""

SHORTEST_SECRET = 4
"""Characters of a secret, at least."""

_SWITCH = {"true": "true", "false": "false", "y": "true", "n": "false", "yes": "true", "no": "false"}


def fixed(fields: Sequence[dict[str, Any]]) -> Form:
    """The form that the API sent, as JSON."""
    read = tuple(InputField.model_validate(field) for field in fields)
    return lambda _: read


def applies(field: InputField, fields: Sequence[InputField], given: Mapping[str, str]) -> bool:
    """Whether the condition of a field holds. One that needs what is not known here counts as holding."""
    if field.condition is None:
        return True
    worth = {each.key: given.get(each.key, _unanswered(each)) for each in fields}
    scope = Scope({}, {"inputs": worth, "defaults": {}}, lambda count: "x" * count)
    try:
        holds = truthy(value_of(field.condition, scope))
    except TemplateFault:
        return True
    return holds or bool(scope.missing)


def missing(form: Form, given: Mapping[str, str]) -> list[InputField]:
    """Fields that a run cannot do without, and has not got."""
    fields = form(given)
    return [field for field in fields if _lacks(field, given) and applies(field, fields, given)]


def is_sensitive(key: str, fields: Sequence[InputField]) -> bool:
    """Whether the values of an input are secret, as declared or by its name."""
    return is_sensitive_name(key) or any(field.sensitive for field in fields if field.key == key)


def read(field: InputField, typed: str) -> str:
    """What was typed, as the value that it stands for: a number in a list of choices, `y` for true.

    Raises:
        ValueError: it will not do. Says what would, and never repeats it.
    """
    text = typed if field.type is InputType.STRING else typed.strip()
    if not text.strip():
        if field.required:
            raise ValueError("a value is needed")
        return text
    match field.type:
        case InputType.STRING:
            value = text
        case InputType.NUMBER:
            value = _number(text)
        case InputType.BOOLEAN:
            value = _switch(text)
        case InputType.CHOICE:
            value = _choice(field.options, text)
        case _:
            assert_never(field.type)
    if field.sensitive and len(value) < SHORTEST_SECRET:
        raise ValueError(f"a secret needs {SHORTEST_SECRET} characters or more")
    return value


def _lacks(field: InputField, given: Mapping[str, str]) -> bool:
    return field.required and not (field.default or "").strip() and not given.get(field.key, "").strip()


def _unanswered(field: InputField) -> str:
    """What an expression sees of a field without an answer."""
    return field.default or ("false" if field.type is InputType.BOOLEAN else "")


def _number(text: str) -> str:
    def refuse(_: str) -> NoReturn:
        raise ValueError

    try:
        found: object = json.loads(text, parse_constant=refuse)
    except (ValueError, RecursionError):
        found = None
    if isinstance(found, int | float) and not isinstance(found, bool):
        return text
    raise ValueError("enter a number, such as 3 or 0.5")


def _switch(text: str) -> str:
    if text.lower() not in _SWITCH:
        raise ValueError("enter y or n")
    return _SWITCH[text.lower()]


def _choice(options: Sequence[str], text: str) -> str:
    if text in options:
        return text
    if text.isdecimal() and 1 <= int(text) <= len(options):
        return options[int(text) - 1]
    raise ValueError(f"enter one of {', '.join(options)[:200]}")
