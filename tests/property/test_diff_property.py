"""Any two objects: the difference is empty exactly when they say the same, and tells no secret."""

import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from locktender.integrations.kube.change_words import LONGEST_TEXT
from locktender.integrations.kube.diff import field_diff

NAMES = st.sampled_from(["name", "value", "image", "ports", "env", "spec", "a.b/c", "x", "containers", "items"])
SCALARS = st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from(["", "a", "b\nc", "b\nd\n", "TCP"])
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3), max_leaves=12
)
OBJECTS = st.dictionaries(NAMES, VALUES, max_size=4)
CANARY = "canary-value-7d1e"
SENSITIVE = st.sampled_from(["password", "dbPassword", "api-key", "API_TOKEN", "clientSecret"])


def same(one: Any, other: Any) -> bool:
    """Equality as in JSON, where true is not 1; the order of members means nothing."""
    return json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)


@settings(max_examples=200, deadline=None)
@given(OBJECTS)
def test_nothing_differs_from_itself(value: dict[str, Any]) -> None:
    assert field_diff(value, json.loads(json.dumps(value))).changes == ()


@settings(max_examples=300, deadline=None)
@given(OBJECTS, OBJECTS)
def test_the_difference_is_empty_exactly_when_both_say_the_same(one: dict[str, Any], other: dict[str, Any]) -> None:
    difference = field_diff(one, other)
    assert (not difference.changes) == same(one, other)
    for change in difference.changes:
        assert max(len(text) for text in (change.before or "", change.after or "")) <= LONGEST_TEXT


@settings(max_examples=200, deadline=None)
@given(OBJECTS, st.dictionaries(SENSITIVE, st.just(CANARY) | st.lists(st.just(CANARY), max_size=2), min_size=1))
def test_a_masked_value_never_appears(value: dict[str, Any], hidden: dict[str, Any]) -> None:
    other = {**value, "spec": {"inner": [hidden]}}
    assert CANARY not in str(field_diff(value, other))
    assert CANARY not in str(field_diff(other, value))
    assert CANARY not in str(field_diff(value, other, partial=True))


@settings(max_examples=200, deadline=None)
@given(OBJECTS, st.dictionaries(NAMES, st.sampled_from([CANARY, f"x{CANARY}y", f"a\n{CANARY}\n"]), min_size=1))
def test_a_known_secret_never_appears(value: dict[str, Any], hidden: dict[str, Any]) -> None:
    other = {**value, **hidden}
    assert CANARY not in str(field_diff(value, other, secrets=[CANARY]))
    assert CANARY not in str(field_diff(other, value, secrets=[CANARY]))
