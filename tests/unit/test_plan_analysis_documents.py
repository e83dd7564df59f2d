"""Documents that the engine at hand does not write, and such that no engine writes."""

import json
from typing import Any

import pytest

from locktender.contracts.stacks.analysis import (
    ChangeAction,
    GapReason,
    PlanChange,
    PlanCounts,
    PlanGap,
    PlanSummary,
    RunAnalysis,
    describe,
)
from locktender.integrations.tofu.analysis import analyse_plan, analyse_state, failed_summary

CANARY = "canary-hunter2"


def entry(*actions: str, address: str = "x_y.a", **change: Any) -> dict[str, Any]:
    above = {key: change.pop(key) for key in ("action_reason", "mode", "previous_address", "deposed") if key in change}
    named = {"address": address, "mode": "managed", "type": "x_y", "name": "a", "provider_name": "example.org/x/y"}
    return {**named, **above, "change": {"actions": list(actions), "before": None, "after": None, **change}}


def document(*changes: dict[str, Any], **members: Any) -> bytes:
    body = {"format_version": "1.2", "planned_values": {}, "configuration": {"root_module": {}}}
    return json.dumps({**body, "resource_changes": list(changes), **members}).encode()


def analysed(*changes: dict[str, Any], narrowed: bool = False, **members: Any) -> tuple[PlanSummary, RunAnalysis]:
    return analyse_plan(document(*changes, **members), has_changes=True, narrowed=narrowed)


def only(analysis: RunAnalysis) -> PlanChange:
    assert analysis.plan_changes is not None
    (change,) = analysis.plan_changes.resources
    return change


def test_deferred_changes_are_a_gap_and_no_number() -> None:
    deferred = {"reason": "resource_config_unknown", "resource_change": entry("create", address="x_y.later")}
    summary, analysis = analysed(entry("create"), deferred_changes=[deferred], complete=False)
    assert summary.counts == PlanCounts(create=1)
    assert summary.gaps == (PlanGap(reason=GapReason.DEFERRED, address="x_y.later"),)
    assert analysis.plan_changes is not None
    assert [change.address for change in analysis.plan_changes.deferred] == ["x_y.later"]
    assert describe(summary) == "At least 1 to create: some changes are deferred to a later plan."


@pytest.mark.parametrize(
    ("members", "reasons"),
    [
        ({"complete": False}, [GapReason.INCOMPLETE]),
        ({"errored": True, "complete": False}, [GapReason.ERRORED]),
        ({"action_invocations": [{"address": "action.x.y"}]}, [GapReason.UNKNOWN_ACTION]),
    ],
)
def test_the_engine_says_what_is_missing(members: dict[str, Any], reasons: list[GapReason]) -> None:
    summary, _ = analysed(entry("create"), **members)
    assert list(summary.gap_reasons()) == reasons
    assert not summary.counts_complete


def test_a_narrowed_plan_is_incomplete_for_one_reason() -> None:
    assert analysed(entry("delete"), narrowed=True, complete=False)[0].gap_reasons() == (GapReason.NARROWED,)


def test_an_action_that_is_not_known_is_shown_and_no_number() -> None:
    summary, analysis = analysed(entry("transmogrify"))
    assert summary.counts == PlanCounts()
    assert summary.gaps == (PlanGap(reason=GapReason.UNKNOWN_ACTION, address="x_y.a"),)
    assert only(analysis).action is ChangeAction.UNKNOWN


@pytest.mark.parametrize(
    ("actions", "counts"),
    [
        (("create", "forget"), PlanCounts(create=1, forget=1)),
        (("forget", "create"), PlanCounts(create=1, forget=1)),
        (("delete", "create"), PlanCounts(replace=1)),
    ],
)
def test_two_actions_at_once(actions: tuple[str, ...], counts: PlanCounts) -> None:
    summary, _ = analysed(entry(*actions, before={"id": "1"}, after={"id": "2"}))
    assert summary.counts == counts
    assert summary.destructive is (counts.replace == 1)


def test_what_the_exit_code_says_and_no_entry_shows_is_a_gap() -> None:
    assert analysed()[0].gap_reasons() == (GapReason.UNKNOWN,)
    summary, _ = analyse_plan(document(entry("delete")), has_changes=False, narrowed=False)
    assert summary.gap_reasons() == (GapReason.UNKNOWN,)
    assert summary.destructive


def test_drift_is_kept_apart() -> None:
    drift = entry("update", before={"size": 1}, after={"size": 2})
    summary, analysis = analysed(resource_drift=[drift])
    assert (summary.counts, summary.gaps) == (PlanCounts(), ())
    assert analysis.plan_changes is not None
    assert analysis.plan_changes.resources == ()
    assert "    ~ size = 1 -> 2" in analysis.plan_changes.drift[0].diff


def test_a_write_only_attribute_changes_without_being_seen() -> None:
    _, analysis = analysed(entry("update", before={"id": "1", "secret_wo": None}, after={"id": "1", "secret_wo": None}))
    assert "      # (nothing that can be shown differs)" in only(analysis).diff


def test_the_paths_that_force_a_replacement_are_named() -> None:
    _, analysis = analysed(
        entry(
            "delete", "create",
            before={"zone": "a", "disk": {"size": 1, "kind": "k"}, "tags": ["x"]},
            after={"zone": "b", "disk": {"size": 2, "kind": "k"}, "tags": ["y"]},
            replace_paths=[["zone"], ["disk", "size"], ["tags", 0]],
            action_reason="replace_because_something_new",
        )
    )  # fmt: skip
    change, told = only(analysis), "\n".join(only(analysis).diff)
    assert change.reason == "for a reason that is not known here"
    for words in ('zone = "a" -> "b" # forces', "~ size = 1 -> 2 # forces replacement", "tags = [ # forces"):
        assert words in told
    assert "disk = {\n" in told


@pytest.mark.parametrize("marks", [True, {"k": True}, [True], {"k": [True, False]}, {"other": {"deep": True}}])
def test_a_mark_that_does_not_fit_masks_too_much_rather_than_too_little(marks: object) -> None:
    value = {"k": CANARY, "other": CANARY}
    _, analysis = analysed(
        entry("update", before={"v": value}, after={"v": f"{CANARY}!"}, before_sensitive={"v": marks},
              after_sensitive={"v": marks}),
        prior_state=state({"v": value}, {"v": marks}),
    )  # fmt: skip
    assert CANARY not in analysis.model_dump_json()


def test_no_variable_and_no_given_secret_is_copied() -> None:
    _, analysis = analyse_plan(
        document(
            entry("create", after={"url": f"https://u:{CANARY}@h", "note": "given-by-environment", "n": 5}),
            variables={"pw": {"value": CANARY}, "n": {"value": 5}},
            configuration={"root_module": {"variables": {"pw": {"sensitive": True}, "n": {}}}},
            checks=[{"address": {"to_display": "check.c"}, "status": "fail",
                     "instances": [{"problems": [{"message": f"not {CANARY}"}]}]}],
        ),
        has_changes=True, narrowed=False, secrets=["given-by-environment"],
    )  # fmt: skip
    told = "\n".join(only(analysis).diff)
    assert 'url  = "https://u:(sensitive value)@h"' in told
    assert 'note = "(sensitive value)"' in told
    assert "n    = 5" in told
    assert CANARY not in analysis.model_dump_json()


def state(values: dict[str, Any], marks: object = None) -> dict[str, Any]:
    resource = {"address": "x_y.a", "mode": "managed", "type": "x_y", "name": "a", "values": values}
    return {
        "format_version": "1.0",
        "values": {"root_module": {"resources": [{**resource, "sensitive_values": marks, "tainted": True}]}},
    }


def test_an_empty_state_is_empty_and_an_unreadable_one_is_not_known() -> None:
    empty = analyse_state(b'{"format_version": "1.0"}')
    assert empty.state_resources is not None
    assert empty.state_resources.resources == ()
    assert (empty.plan_changes, empty.resource_graph) == (None, None)
    assert analyse_state(b"").state_resources is None
    assert analyse_state(document()).state_resources is None
    (resource,) = getattr(analyse_state(json.dumps(state({"k": "v"})).encode()).state_resources, "resources", ())
    assert (resource.tainted, resource.attributes, resource.sensitive) == (True, {"k": "v"}, False)


@pytest.mark.parametrize(
    "hostile",
    [
        b"", b"null", b"[]", b'"x"', b"{", b"\xff\xfe", b'{"format_version": "9.0"}', b'{"format_version": 1}',
        json.dumps(state({"k": CANARY})).encode(),
        b'{"format_version": "1.0", "planned_values": {}, "configuration": {}, "resource_changes": {"a": 1}}',
        document(resource_changes=[CANARY]), document({"change": {"actions": ["create"]}}),
        document(entry("create", after_sensitive=CANARY), output_changes=[1]),
        document(entry("create", after={"k": 1})).replace(b'"k": 1', b'"k": ' + b"[" * 5_000 + b"]" * 5_000),
        document(entry("create", after={"k": 1})).replace(b'"k": 1', b'"k": NaN'),
        document(entry("create", after={"k": 1})).replace(b'"k": 1', b'"k": "\\ud800"'),
    ],
)  # fmt: skip
def test_a_hostile_document_is_a_failed_analysis(hostile: bytes) -> None:
    summary, analysis = analyse_plan(hostile, has_changes=True, narrowed=True)
    assert summary == failed_summary(has_changes=True, narrowed=True)
    assert summary.gap_reasons() == (GapReason.ANALYSIS_FAILED, GapReason.NARROWED)
    assert analysis.plan_changes is None
    assert describe(summary).startswith("Changes that no number describes")
    assert CANARY not in analysis.model_dump_json()


def test_a_configuration_in_a_circle_is_a_graph_all_the_same() -> None:
    inner = {"outputs": {"o": {"expression": {"references": ["var.v"]}}}, "resources": [node("x_y.b", "var.v")]}
    call = {"expressions": {"v": {"references": ["module.m.o", "module.m"]}}, "module": inner}
    root = {"resources": [node("x_y.a", "module.m.o", "x_y.a")], "module_calls": {"m": call}}
    _, analysis = analysed(entry("create"), configuration={"root_module": root})
    assert analysis.resource_graph is not None
    assert [each.address for each in analysis.resource_graph.nodes] == ["module.m.x_y.b", "x_y.a"]
    assert analysis.resource_graph.edges == ()


def test_a_graph_that_cannot_be_read_costs_only_the_graph() -> None:
    summary, analysis = analysed(entry("create"), configuration={"root_module": {"resources": [{"address": "x"}]}})
    assert summary.counts_complete
    assert (analysis.resource_graph, only(analysis).action) == (None, ChangeAction.CREATE)


def node(address: str, *references: str) -> dict[str, Any]:
    kind, _, name = address.partition(".")
    expressions = {"in": {"references": list(references)}}
    return {"address": address, "mode": "managed", "type": kind, "name": name, "expressions": expressions}


def test_outputs_of_the_state_are_those_that_it_has_recorded_and_not_those_that_are_planned() -> None:
    prior = {name: {"sensitive": False, "value": f"new {name}", "type": "string"} for name in ("a", "b", "c", "d")}
    changes = {
        "a": {"actions": ["create"], "before": None, "after": "new a", "before_sensitive": False},
        "b": {"actions": ["update"], "before": "old b", "after": "new b", "before_sensitive": False},
        "c": {"actions": ["update"], "before": CANARY, "after": "new c", "before_sensitive": True},
        "e": {"actions": ["delete"], "before": "old e", "after": None, "before_sensitive": False},
    }
    _, analysis = analysed(prior_state={"values": {"outputs": prior}}, output_changes=changes)
    assert analysis.state_resources is not None
    held = {output.name: (output.sensitive, output.value) for output in analysis.state_resources.outputs}
    assert held == {
        "b": (False, "old b"),
        "c": (True, "(sensitive value)"),
        "d": (False, "new d"),
        "e": (False, "old e"),
    }
