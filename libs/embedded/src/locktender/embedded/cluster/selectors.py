"""Label and field selectors, from their query form to a predicate."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from locktender.embedded.cluster.refusal import bad_request
from locktender.embedded.cluster.shapes import Obj, at, labels_of, list_at, obj_at, objs_at, text_at

Predicate: TypeAlias = Callable[[Obj], bool]

# fmt: off
SELECTABLE = frozenset({
    "metadata.name", "metadata.namespace", "status.phase", "spec.nodeName", "type", "reason", "reportingComponent",
    "involvedObject.kind", "involvedObject.name", "involvedObject.namespace", "involvedObject.uid",
})
# fmt: on
_SET = re.compile(r"^(?P<key>\S+)\s+(?P<op>in|notin)\s+\((?P<values>[^)]*)\)$")
_EQUAL = re.compile(r"^(?P<key>[^=!\s]+)\s*(?P<op>==|=|!=)\s*(?P<value>[^=!\s]*)$")
_SPLIT = re.compile(r",(?![^(]*\))")


@dataclass(frozen=True, slots=True)
class Selection:
    """Which objects a list, watch or collection delete is about."""

    tests: tuple[Predicate, ...] = ()

    def __call__(self, obj: Obj) -> bool:
        return all(test(obj) for test in self.tests)


def selection(labels: str, fields: str) -> Selection:
    """Both selectors of a request.

    Raises:
        Refusal: 400 for a selector that cannot be read, or a field that cannot be selected by.
    """
    label_tests = [_label_test(term.strip()) for term in _SPLIT.split(labels) if term.strip()]
    field_tests = [_field_test(term.strip()) for term in fields.split(",") if term.strip()]
    return Selection((*label_tests, *field_tests))


def _label_test(term: str) -> Predicate:
    if found := _SET.match(term):
        key, values = found["key"], {value.strip() for value in found["values"].split(",")}
        if found["op"] == "in":
            return lambda obj: labels_of(obj).get(key) in values
        return lambda obj: labels_of(obj).get(key) not in values
    if found := _EQUAL.match(term):
        key, value = found["key"], found["value"]
        if found["op"] == "!=":
            return lambda obj: labels_of(obj).get(key) != value
        return lambda obj: labels_of(obj).get(key) == value
    if re.fullmatch(r"!?[\w./-]+", term):
        key, wanted = term.removeprefix("!"), not term.startswith("!")
        return lambda obj: (key in labels_of(obj)) is wanted
    raise bad_request(f"unable to parse requirement: {term}")


def _field_test(term: str) -> Predicate:
    found = _EQUAL.match(term)
    if not found:
        raise bad_request(f"invalid field selector: {term}")
    if found["key"] not in SELECTABLE:
        raise bad_request(f'field label not supported: "{found["key"]}"')
    path, value, wanted = found["key"].split("."), found["value"], found["op"] != "!="
    return lambda obj: (str(at(obj, *path) or "") == value) is wanted


def selects(selector: Obj, labels: Obj) -> bool:
    """Whether a `LabelSelector` object selects these labels. An empty selector selects nothing here."""
    wanted = obj_at(selector, "matchLabels")
    expressions = objs_at(selector, "matchExpressions")
    if not wanted and not expressions:
        return False
    return all(labels.get(k) == v for k, v in wanted.items()) and all(_holds(e, labels) for e in expressions)


def _holds(expression: Obj, labels: Obj) -> bool:
    key = text_at(expression, "key")
    match text_at(expression, "operator"):
        case "In":
            return labels.get(key) in list_at(expression, "values")
        case "NotIn":
            return labels.get(key) not in list_at(expression, "values")
        case "Exists":
            return key in labels
        case "DoesNotExist":
            return key not in labels
        case _:
            return False
