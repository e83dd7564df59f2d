"""What a cache of observed objects shows, whatever the order in which lists and changes arrive."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from locktender.integrations.kube.informing.cache import Cache
from locktender.integrations.kube.informing.interest import About, Interest, Named, Scope, Selected
from locktender.integrations.kube.informing.view import Sure, View

NAMES = ("a", "b", "c")


def body(name: str, version: int, **labels: str) -> dict[str, Any]:
    metadata = {"name": name, "resourceVersion": str(version), "labels": labels, "managedFields": [{"manager": "x"}]}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"version": str(version)}}


def view(interest: Interest) -> View:
    return View(interest, lambda: None, lambda _: None)


@given(
    history=st.lists(st.tuples(st.sampled_from(NAMES), st.booleans()), max_size=30),
    lists=st.lists(st.tuples(st.integers(0, 30), st.integers(0, 5), st.integers(0, 3)), max_size=4),
)
def test_lists_and_changes_in_any_order_end_in_what_the_cluster_has(
    history: list[tuple[str, bool]], lists: list[tuple[int, int, int]]
) -> None:
    # The state after each version; a list is asked for at one moment, made at a later one, and comes at a still later.
    states: list[dict[str, int]] = [{}]
    for version, (name, lives) in enumerate(history, start=1):
        states.append({**states[-1], name: version} if lives else {k: v for k, v in states[-1].items() if k != name})
    cache, seen = Cache(), view(Selected(""))
    cache.join(seen)
    under_way: list[tuple[int, Any, Any, int]] = []
    for moment in range(len(states)):
        if moment:
            name, lives = history[moment - 1]
            if lives:
                cache.changed(body(name, moment))
            elif name in states[moment - 1]:
                cache.deleted(body(name, moment))
        for arrives, manager, load, made in [each for each in under_way if each[0] == moment]:
            cache.replace(load, [body(n, v) for n, v in states[made].items()], str(made))
            manager.__exit__(None, None, None)
            under_way.remove((arrives, manager, load, made))
        for begins, before_made, before_arrival in lists:
            if begins == moment:
                made = begins + before_made
                arrives = made + before_arrival
                if arrives < len(states) and arrives > begins:
                    manager = cache.loading()
                    under_way.append((arrives, manager, manager.__enter__(), made))
    assert {name: int(found["metadata"]["resourceVersion"]) for name, found in seen.objects.items()} == states[-1]  # type: ignore[call-overload,index,arg-type] - objects of this test


def test_only_what_somebody_wants_is_kept_and_without_bookkeeping() -> None:
    cache, wanted = Cache(), view(Named("a"))
    cache.join(wanted)
    for name in NAMES:
        cache.changed(body(name, 1))
    assert len(cache) == 1
    assert "managedFields" not in str(wanted.objects)
    cache.leave(wanted)
    assert len(cache) == 0


def test_an_object_that_leaves_a_selection_disappears_from_it_alone() -> None:
    cache, by_name, by_label = Cache(), view(Named("a")), view(Selected("app=web"))
    cache.join(by_name)
    cache.join(by_label)
    cache.changed(body("a", 1, app="web"))
    assert set(by_label.objects) == {"a"}
    cache.changed(body("a", 2, app="api"))
    assert set(by_label.objects) == set()
    assert set(by_name.objects) == {"a"}


def test_an_older_change_never_overwrites_a_newer_object() -> None:
    cache, seen = Cache(), view(Named("a"))
    cache.join(seen)
    cache.changed(body("a", 5))
    cache.changed(body("a", 4))
    cache.deleted(body("a", 3))
    assert seen.objects["a"]["data"] == {"version": "5"}


def test_an_event_that_only_counts_up_wakes_nobody() -> None:
    told: list[int] = []
    cache = Cache()
    cache.join(View(About("Deployment", "web"), lambda: told.append(1), lambda _: None))
    event = {"involvedObject": {"kind": "Pod", "name": "web-5c9f-x2"}, "type": "Warning", "reason": "Unhealthy"}
    for version in range(1, 5):
        cache.changed({"metadata": {"name": "e", "resourceVersion": str(version)}, "count": version, **event})
    assert len(told) == 1


def test_requests_are_narrowed_as_long_as_everybody_wants_the_same() -> None:
    cache, first = Cache(), view(Named("a"))
    cache.join(first)
    assert cache.scope == Scope(field_selector="metadata.name=a")
    cache.join(view(Named("b")))
    assert cache.scope == Scope()


def test_who_joins_is_told_nothing_before_it_was_served() -> None:
    cache, early = Cache(), view(Named("a"))
    cache.join(early)
    with cache.loading() as load:
        late = view(Named("b"))
        cache.join(late)
        cache.replace(load, [body("a", 1)], "1")
    assert (early.standing, late.standing) == (Sure.KNOWN, Sure.LOADING)


@pytest.mark.parametrize(
    ("selector", "labels", "selected"),
    [
        ("", {}, True),
        ("app=web", {"app": "web"}, True),
        ("app=web,tier=db", {"app": "web"}, False),
        ("app==web", {"app": "web"}, True),
        ("app!=web", {}, True),
        ("app in (web,api),!old", {"app": "api"}, True),
        ("app in (web,api),!old", {"app": "api", "old": "yes"}, False),
        ("app notin (web,api)", {"app": "web"}, False),
        ("app notin (web,api)", {}, True),
        ("example.org/role", {"example.org/role": ""}, True),
    ],
)
def test_selectors_select_as_a_cluster_does(selector: str, labels: dict[str, str], *, selected: bool) -> None:
    assert Selected(selector).wants({"metadata": {"labels": labels}}) is selected


@pytest.mark.parametrize(
    ("kind", "name", "regarding", "wanted"),
    [
        ("Deployment", "web", ("Deployment", "web"), True),
        ("Deployment", "web", ("ReplicaSet", "web-7d9f"), True),
        ("Deployment", "web", ("Pod", "web-7d9f-x2k4"), True),
        ("Deployment", "web", ("ReplicaSet", "web-api-7d9f"), False),
        ("Deployment", "web", ("Pod", "web-api-7d9f-x2k4"), False),
        ("Deployment", "web", ("Service", "web"), False),
        ("StatefulSet", "db", ("Pod", "db-0"), True),
        ("StatefulSet", "db", ("Pod", "dba-0"), False),
    ],
)
def test_warnings_are_about_an_object_and_what_was_made_for_it(
    kind: str, name: str, regarding: tuple[str, str], *, wanted: bool
) -> None:
    event: Any = {"type": "Warning", "involvedObject": {"kind": regarding[0], "name": regarding[1]}}
    assert About(kind, name).wants(event) is wanted
