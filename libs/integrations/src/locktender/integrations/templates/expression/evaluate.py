"""A tree and a scope to a value. The work is bounded by the size of the tree; nothing outside can be reached."""

import base64
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import assert_never

from locktender.integrations.templates.expression.methods import method, part_of
from locktender.integrations.templates.expression.tree import (
    Binary,
    Call,
    Choice,
    Literal,
    Many,
    Member,
    Name,
    Node,
    Unary,
)
from locktender.integrations.templates.expression.values import (
    ExpressionFault,
    Meter,
    Value,
    added,
    alike,
    as_number,
    as_text,
    bounded,
    same,
    truthy,
)

MOST_RANDOM = 256
"""Letters of one `random(n)`, at most."""


@dataclass(frozen=True, slots=True)
class Scope:
    """What the names in an expression mean.

    Attributes:
        variables: the platform's, such as `SEALOS_NAMESPACE`.
        groups: `defaults` and `inputs`.
        random: that many lower-case letters.
        missing: names that an expression asked for in vain, such as `inputs.colour`.
        meter: what counts the work; shared by everything that must not take long together.
    """

    variables: Mapping[str, Value]
    groups: Mapping[str, Mapping[str, Value]]
    random: Callable[[int], str]
    missing: set[str] = field(default_factory=set[str])
    meter: Meter = field(default_factory=Meter)


def evaluate(node: Node, scope: Scope) -> Value:
    """What an expression is worth.

    Raises:
        ExpressionFault: a function or method does not exist or does not fit its value, or it is all too much work.
    """
    return scope.meter.spend(_worth(node, scope))


def _worth(node: Node, scope: Scope) -> Value:  # noqa: PLR0911 - one answer for each kind of node
    match node:
        case Literal(value=value):
            return value
        case Name(name=name):
            return _variable(name, scope)
        case Many(items=items):
            return [evaluate(item, scope) for item in items]
        case Member(of=of, key=key):
            return _member(of, key, scope)
        case Call(function=function, arguments=arguments):
            return _called(function, [evaluate(argument, scope) for argument in arguments], scope)
        case Unary(mark=mark, of=of):
            return _unary(mark, evaluate(of, scope))
        case Binary():
            return _binary(node, scope)
        case Choice(condition=condition, then=then, otherwise=otherwise):
            return evaluate(then if truthy(evaluate(condition, scope)) else otherwise, scope)
        case _:
            assert_never(node)


def _variable(name: str, scope: Scope) -> Value:
    if name in scope.groups:
        raise ExpressionFault(f"`{name}` is a group; write {name}.NAME")
    if name not in scope.variables:
        scope.missing.add(name)
    return scope.variables.get(name)


def _member(of: Node, key: Node, scope: Scope) -> Value:
    name = evaluate(key, scope)
    if isinstance(of, Name) and of.name in scope.groups:
        wanted, group = as_text(name), scope.groups[of.name]
        if wanted not in group:
            scope.missing.add(f"{of.name}.{wanted}")
        return group.get(wanted)
    return part_of(evaluate(of, scope), name)


def _called(function: Node, arguments: list[Value], scope: Scope) -> Value:
    if isinstance(function, Member):
        name = evaluate(function.key, scope)
        return method(evaluate(function.of, scope), as_text(name), arguments)
    match function:
        case Name(name="random"):
            return scope.random(_count(arguments))
        case Name(name="base64"):
            return bounded(base64.b64encode(as_text(_only(arguments)).encode()).decode())
        case Name(name="String"):
            return as_text(_only(arguments))
        case Name(name="Number" | "parseFloat" | "parseInt"):
            return as_number(_only(arguments))
        case Name(name="Boolean"):
            return truthy(_only(arguments))
        case _:
            named = f"`{function.name[:40]}`" if isinstance(function, Name) else "it"
            raise ExpressionFault(f"there is no function {named}; there are random, base64, String, Number, Boolean")


def _count(arguments: list[Value]) -> int:
    wanted = as_number(_only(arguments))
    if not (1 <= wanted <= MOST_RANDOM and wanted.is_integer()):
        raise ExpressionFault(f"random takes a whole number from 1 to {MOST_RANDOM}")
    return int(wanted)


def _only(arguments: list[Value]) -> Value:
    return arguments[0] if arguments else None


def _unary(mark: str, value: Value) -> Value:
    if mark == "!":
        return not truthy(value)
    return -as_number(value) if mark == "-" else as_number(value)


def _binary(node: Binary, scope: Scope) -> Value:
    left = evaluate(node.left, scope)
    match node.mark:
        case "&&":
            return evaluate(node.right, scope) if truthy(left) else left
        case "||":
            return left if truthy(left) else evaluate(node.right, scope)
        case "??":
            return evaluate(node.right, scope) if left is None else left
        case _:
            return _operated(node.mark, left, evaluate(node.right, scope))


def _operated(mark: str, left: Value, right: Value) -> Value:
    match mark:
        case "===":
            return same(left, right)
        case "!==":
            return not same(left, right)
        case "==":
            return alike(left, right)
        case "!=":
            return not alike(left, right)
        case "+":
            return added(left, right)
        case _:
            return _arithmetic(mark, left, right)


def _arithmetic(mark: str, left: Value, right: Value) -> Value:
    if isinstance(left, str) and isinstance(right, str) and mark in {"<", ">", "<=", ">="}:
        return _ordered(mark, left > right, left < right)
    one, other = as_number(left), as_number(right)
    match mark:
        case "-":
            return one - other
        case "*":
            return one * other
        case "/" | "%" if other == 0:
            raise ExpressionFault("it divides by zero")
        case "/":
            return one / other
        case "%":
            return math.fmod(one, other) if math.isfinite(one) else math.nan
        case _:
            return _ordered(mark, one > other, one < other) if one == one and other == other else False  # noqa: PLR0124 - NaN


def _ordered(mark: str, greater: bool, less: bool) -> bool:  # noqa: FBT001 - two facts of one comparison
    return {">": greater, "<": less, ">=": not less, "<=": not greater}[mark]
