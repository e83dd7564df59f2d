"""Label selectors, applied here instead of by the cluster."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum, auto
from typing import TypeAlias

_BETWEEN_TERMS = re.compile(r",(?![^(]*\))")
_SET = re.compile(r"(\S+)\s+(in|notin)\s+\(([^)]*)\)")


class _Test(Enum):
    IN = auto()
    NOT_IN = auto()
    EXISTS = auto()
    ABSENT = auto()


@dataclass(frozen=True, slots=True)
class Term:
    """One requirement on one label."""

    key: str
    test: _Test
    values: frozenset[str] = frozenset()

    def holds(self, labels: Mapping[str, object]) -> bool:
        match self.test:
            case _Test.IN:
                return labels.get(self.key) in self.values
            case _Test.NOT_IN:
                return labels.get(self.key) not in self.values
            case _Test.EXISTS:
                return self.key in labels
            case _Test.ABSENT:
                return self.key not in labels


Terms: TypeAlias = tuple[Term, ...]


def parsed(selector: str) -> Terms:
    """The terms of a selector such as `app=web,tier in (a,b),!canary`. An empty one selects everything."""
    return tuple(_term(text.strip()) for text in _BETWEEN_TERMS.split(selector) if text.strip())


def matches(terms: Terms, labels: Mapping[str, object]) -> bool:
    """Whether all terms hold of `labels`."""
    return all(term.holds(labels) for term in terms)


def any_equality(terms: Terms) -> tuple[str, str] | None:
    """A label that every object of the selection has."""
    for term in terms:
        if term.test is _Test.IN and len(term.values) == 1:
            return term.key, next(iter(term.values))
    return None


def _term(text: str) -> Term:
    if found := _SET.fullmatch(text):
        key, operator, values = found.groups()
        chosen = frozenset(value.strip() for value in values.split(","))
        return Term(key, _Test.IN if operator == "in" else _Test.NOT_IN, chosen)
    if text.startswith("!"):
        return Term(text[1:].strip(), _Test.ABSENT)
    key, unequal, value = text.partition("!=")
    if unequal:
        return Term(key.strip(), _Test.NOT_IN, frozenset({value.strip()}))
    key, equal, value = text.replace("==", "=").partition("=")
    if equal:
        return Term(key.strip(), _Test.IN, frozenset({value.strip()}))
    return Term(text, _Test.EXISTS)
