"""How tasks are presented: one table, and it agrees with what can really be done."""

import pytest

from locktender.contracts.deployments import flow
from locktender.contracts.deployments.canvas import Canvas, CanvasRef, Edge, ResultMapping, Slot, canvas_faults
from locktender.contracts.deployments.flow import DEPLOYMENT_TASK, TaskStatus
from locktender.contracts.deployments.presentation import (
    PRESENTATIONS,
    Action,
    Attention,
    DisplayState,
    Facts,
    Hue,
    present,
)


def test_every_status_is_in_the_table_and_resuming_and_cancelling_are_the_only_other_states() -> None:
    others = {"resuming", "cancelling"}
    assert {state.value for state in PRESENTATIONS} == {status.value for status in TaskStatus} | others
    assert all(presented.state is state for state, presented in PRESENTATIONS.items())
    assert len({presented.label for presented in PRESENTATIONS.values()}) == len(PRESENTATIONS)


@pytest.mark.parametrize("status", TaskStatus)
def test_an_action_is_offered_exactly_where_the_machine_has_a_way(status: TaskStatus) -> None:
    actions = present(Facts(status)).actions
    assert (Action.CANCEL in actions) is (status in DEPLOYMENT_TASK.active)
    assert (Action.INPUT in actions) is (status in flow.SUBMIT_INPUT.sources)
    assert (Action.REDEPLOY in actions) is (status in {TaskStatus.FAILED, TaskStatus.CANCELLED})
    assert (Action.DISMISS in actions) is (status in DEPLOYMENT_TASK.terminal)


@pytest.mark.parametrize("status", TaskStatus)
def test_only_a_held_task_is_ever_cancelling_and_then_nothing_is_offered(status: TaskStatus) -> None:
    shown = present(Facts(status, cancel_requested=True))
    if status in DEPLOYMENT_TASK.leased:
        assert (shown.state, shown.actions) == (DisplayState.CANCELLING, ())
    else:
        assert shown.state.value == status.value


def test_inputs_that_are_on_their_way_are_not_asked_for_again() -> None:
    shown = present(Facts(TaskStatus.BLOCKED, resume_requested=True))
    assert (shown.state, shown.attention) == (DisplayState.RESUMING, Attention.NONE)
    assert shown.actions == (Action.CANCEL,)


def test_colours_and_attention_follow_from_what_a_person_has_to_do() -> None:
    hues = {state.value: shown.hue for state, shown in PRESENTATIONS.items()}
    assert hues["running"] == hues["applying"] == Hue.BLUE
    assert (hues["completed"], hues["blocked"], hues["failed"]) == (Hue.GREEN, Hue.AMBER, Hue.RED)
    assert hues["queued"] == hues["cancelled"] == Hue.NEUTRAL
    needed = {state.value: shown.attention for state, shown in PRESENTATIONS.items() if shown.attention != "none"}
    assert needed == {
        "blocked": Attention.ALWAYS,
        "failed": Attention.UNTIL_DISMISSED_OR_SUPERSEDED,
        "cancelled": Attention.NOTICE,
    }


REF = CanvasRef(kind="Deployment", name="web")


def test_a_sound_canvas_has_no_fault() -> None:
    canvas = Canvas(
        slots=(Slot(id="a", expected_ref=REF), Slot(id="b")),
        edges=(Edge(source_slot_id="a", target_slot_id="b"),),
        result_mappings=(ResultMapping(slot_id="a", actual_ref=REF),),
    )
    assert list(canvas_faults(canvas)) == []
    assert list(canvas_faults(Canvas())) == []


def test_a_canvas_names_every_slot_once_and_refers_to_no_other() -> None:
    canvas = Canvas(
        slots=(Slot(id="a"), Slot(id="a")),
        edges=(Edge(source_slot_id="a", target_slot_id="x"), Edge(source_slot_id="y", target_slot_id="a")),
        result_mappings=(ResultMapping(slot_id="z", actual_ref=REF),),
    )
    assert [(each.path, each.code) for each in canvas_faults(canvas)] == [
        (("slots", 1, "id"), "duplicate-slot"),
        (("edges", 0, "targetSlotId"), "unknown-slot"),
        (("edges", 1, "sourceSlotId"), "unknown-slot"),
        (("resultMappings", 0, "slotId"), "unknown-slot"),
    ]
