"""What an expression is made of."""

from dataclasses import dataclass
from typing import TypeAlias

from locktender.integrations.templates.expression.values import Value


@dataclass(frozen=True, slots=True)
class Literal:
    """A value as written."""

    value: Value


@dataclass(frozen=True, slots=True)
class Name:
    """A variable of the scope."""

    name: str


@dataclass(frozen=True, slots=True)
class Many:
    """A list."""

    items: tuple["Node", ...]


@dataclass(frozen=True, slots=True)
class Member:
    """A part of a value, by a name that may be worked out."""

    of: "Node"
    key: "Node"


@dataclass(frozen=True, slots=True)
class Call:
    """A function, or a method of a value."""

    function: "Node"
    arguments: tuple["Node", ...]


@dataclass(frozen=True, slots=True)
class Unary:
    """`!a`, `-a`, `+a`."""

    mark: str
    of: "Node"


@dataclass(frozen=True, slots=True)
class Binary:
    """Two values and what is done with them. The right one of `&&`, `||` and `??` may never be looked at."""

    mark: str
    left: "Node"
    right: "Node"


@dataclass(frozen=True, slots=True)
class Choice:
    """`condition ? then : otherwise`."""

    condition: "Node"
    then: "Node"
    otherwise: "Node"


Node: TypeAlias = Literal | Name | Many | Member | Call | Unary | Binary | Choice
