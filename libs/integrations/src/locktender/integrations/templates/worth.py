"""What the texts of a template come to: its expressions worked out, its random letters drawn, its values complete."""

import hashlib
import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from locktender.contracts.deployments.inputs import InputType
from locktender.integrations.templates.expression import ExpressionFault, Meter, Scope, Value, evaluate, parse, truthy
from locktender.integrations.templates.faults import TemplateFault
from locktender.integrations.templates.marks import Marks
from locktender.integrations.templates.template import Declared

_ALPHABET = "abcdefghijklmnopqrstuvwxyz"
_SHOWN = 80

Letters: TypeAlias = Callable[[str], Callable[[int], str]]
"""A place in a template to its source of random letters."""


def drawn(seed: bytes) -> Letters:
    """Lower-case letters that look random and depend on nothing but the seed, the place and how often it asked."""
    return lambda place: _Drawn(seed, place)


def standing_in(letter: str) -> Letters:
    """The same letter all over, for texts that are worked out before there is an instance."""
    return lambda _: lambda count: letter * count


def value_of(source: str, scope: Scope, line: int = 0) -> Value:
    """What one expression is worth.

    Raises:
        TemplateFault: it cannot be worked out; told with its source, which the author wrote, and without any value.
    """
    try:
        return evaluate(parse(source), scope)
    except ExpressionFault as fault:
        problem = str(fault)
    except RecursionError:
        # Its depth is bounded; whoever calls from very deep down already may still run out.
        problem = "it is nested too deeply"
    shown = source if len(source) <= _SHOWN else f"{source[: _SHOWN - 3]}..."
    raise TemplateFault("bad-expression", f"`{shown}` cannot be worked out: {problem}", line)


def worked_out(written: str, scope: Scope) -> str:
    """A text of the first document with its expressions filled in."""
    if "${{" not in written:
        return written
    marks = Marks()
    return marks.put_back(marks.take_out(written, 0), lambda expression: value_of(expression.source, scope))


def settled(
    defaults: Mapping[str, str], variables: Mapping[str, str], letters: Letters, recorded: Mapping[str, str]
) -> dict[str, str]:
    """The values of `spec.defaults`. Each may refer to the others, wherever they stand, and is kept when recorded.

    Raises:
        TemplateFault: one cannot be worked out, needs itself, or needs an input: inputs are not known when an instance
            gets its name.
    """
    meter = Meter()
    done = {key: recorded[key] for key in defaults if key in recorded}
    pending = {key: written for key, written in defaults.items() if key not in done}
    while pending:
        ready: dict[str, str] = {}
        for key, written in pending.items():
            missing: set[str] = set()
            scope = Scope(variables, {"defaults": done, "inputs": {}}, letters(f"default/{key}"), missing, meter)
            value = _unless_early(written, scope, pending)
            if any(name.startswith("inputs.") for name in missing):
                problem = f"default {key[:60]} refers to an input; defaults are worked out before any input is known"
                raise TemplateFault("default-needs-input", problem)
            if value is not None:
                ready[key] = value
        if not ready:
            keys = ", ".join(sorted(pending))[:120]
            raise TemplateFault("circular-defaults", f"these defaults need one another: {keys}")
        done |= ready
        pending = {key: written for key, written in pending.items() if key not in ready}
    return {key: done[key] for key in defaults}


def _unless_early(written: str, scope: Scope, pending: Mapping[str, str]) -> str | None:
    """The value, or None while it asks for a default that is not settled yet."""
    try:
        value = worked_out(written, scope)
    except TemplateFault:
        if not _early(scope, pending):
            raise
        return None
    return None if _early(scope, pending) else value


def _early(scope: Scope, pending: Mapping[str, str]) -> bool:
    return any(name.removeprefix("defaults.") in pending for name in scope.missing if name.startswith("defaults."))


@dataclass(frozen=True, slots=True)
class Inputs:
    """What the inputs of a template are worth to expressions.

    Attributes:
        values: of every declared input: what was given, else its default.
        applies: whether the condition of each holds over those values.
        defaults: of every declared input, worked out.
    """

    values: Mapping[str, str] = field(repr=False)
    applies: frozenset[str]
    defaults: Mapping[str, str] = field(repr=False)


def complete(declared: Sequence[Declared], given: Mapping[str, str], scope: Scope, letters: Letters) -> Inputs:
    """The inputs of one instance. A default may refer to the inputs before it, a condition to all of them.

    An input that does not apply has its default, whatever was given for it. `scope` has the variables and the defaults.

    Raises:
        TemplateFault: a default or a condition cannot be worked out.
    """
    values: dict[str, str] = {}
    defaults: dict[str, str] = {}
    for each in declared:
        at = _with(scope, values, letters(f"input/{each.key}"))
        value = worked_out(each.default, at)
        # An unset switch is off; as an empty text it would be neither on nor off.
        defaults[each.key] = "false" if not value and each.type is InputType.BOOLEAN else value
        values[each.key] = given.get(each.key, defaults[each.key])
    applies: set[str] = set()
    for each in declared:
        at = _with(scope, values, letters(f"condition/{each.key}"))
        if each.condition is None or truthy(value_of(each.condition, at)):
            applies.add(each.key)
        else:
            values[each.key] = defaults[each.key]
    return Inputs(values, frozenset(applies), defaults)


def _with(scope: Scope, values: Mapping[str, str], random: Callable[[int], str]) -> Scope:
    return Scope(scope.variables, {**scope.groups, "inputs": values}, random, scope.missing, scope.meter)


class _Drawn:
    """One source of letters."""

    def __init__(self, seed: bytes, place: str) -> None:
        self._seed = seed
        self._place = place
        self._asked = 0

    def __call__(self, count: int) -> str:
        self._asked += 1
        stream = hashlib.shake_256(self._seed + b"\0" + f"{self._place}\0{self._asked}".encode()).digest(count * 4)
        # Four bytes a letter: the remainder favours no letter by more than one in a hundred million.
        return "".join([_ALPHABET[number % len(_ALPHABET)] for number in struct.unpack(f">{count}I", stream)])
