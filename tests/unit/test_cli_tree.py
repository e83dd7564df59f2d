"""A deployment as people follow it in the terminal: a tree where there is one, lines where there is none."""

import io
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from rich.console import Console

from locktender.cli.render.facts import asked_lines
from locktender.cli.render.timeline import TimelineView
from locktender.cli.render.timing import Stages
from locktender.cli.render.tree import Room, tree
from locktender.cli.render.words import span
from locktender.testkit.clock import FakeClock

BEGIN = datetime(2030, 1, 1, 12, 0, 0, tzinfo=UTC)
PREPARE, CREATE = "prepare-template", "create-resources"


def at(seconds: float) -> str:
    return (BEGIN + timedelta(seconds=seconds)).isoformat()


def card(index: int, status: str, apply: str = "applied", **more: Any) -> dict[str, Any]:
    ref = {"apiVersion": "apps/v1", "kind": "Deployment", "namespace": "shop", "name": f"web-{index}"}
    words = {"reason": None, "message": None, "hint": None}
    return {"index": index, "ref": ref, "required": True, "apply": apply, "status": status, **words, **more}


def snapshot(
    *cards: dict[str, Any],
    status: str = "applying",
    steps: tuple[str, str] = ("completed", "running"),
    events: tuple[tuple[str, float], ...] = (("created", 0), ("started", 1), ("applying", 3)),
    **task: Any,
) -> dict[str, Any]:
    facts: dict[str, Any] = {
        "id": "0190", "displayName": "shop", "status": status, "presentation": status, "createdAt": at(0),
        "updatedAt": at(3), "completedAt": None, "blockedBy": None, "deadlineAt": None, "failure": None,
    }  # fmt: skip
    labels = ("Render the template", "Apply the documents")
    return {
        "task": facts | task,
        "timeline": {
            "steps": [
                {"id": step, "label": label, "status": state}
                for step, label, state in zip((PREPARE, CREATE), labels, steps, strict=True)
            ],
            "cards": list(cards),
            "plan": None,
        },
        "events": [
            {"revision": number, "kind": kind, "createdAt": at(seconds)}
            for number, (kind, seconds) in enumerate(events, start=1)
        ],
    }


def drawn(found: dict[str, Any], *, seconds: float = 10, room: Room | None = None) -> list[str]:
    stages = Stages()
    stages.learn(found["events"])
    return tree(found, stages, BEGIN + timedelta(seconds=seconds), room or Room()).plain.splitlines()


def test_steps_are_branches_with_what_they_took_and_documents_are_their_leaves() -> None:
    troubled = card(1, "blocked", reason="ImagePullBackOff", message="the image cannot be pulled", hint="check its tag")
    waiting = {"kind": "resources", "message": "waits for the required resources to become ready"}
    found = snapshot(card(0, "running"), troubled, blockedBy=waiting, deadlineAt=at(610))
    lines = drawn(found)
    assert lines[:-1] == [
        "shop  applying  1/2 ready  10 s",
        "├─ ✓ Render the template  2.0 s",
        "└─ ◌ Apply the documents  7.0 s",
        "   ├─ ● Deployment shop/web-0  applied    ready",
        "   └─ ◍ Deployment shop/web-1  applied    blocked",
        "        ImagePullBackOff: the image cannot be pulled",
        "        hint: check its tag",
    ]
    assert lines[-1].startswith("waits for the required resources to become ready; until ")
    assert lines[-1].endswith(", 10 m 00 s left")


def test_waiting_for_a_person_does_not_count_as_work() -> None:
    events = (("created", 0), ("started", 1), ("inputs-requested", 2), ("resumed", 302), ("applying", 305))
    lines = drawn(snapshot(events=events), seconds=306)
    assert lines[1:3] == ["├─ ✓ Render the template  4.0 s", "└─ ◌ Apply the documents  1.0 s"]


def test_a_step_that_was_cut_off_shows_what_it_took() -> None:
    events = (("created", 0), ("started", 1), ("applying", 3), ("cancelled", 8))
    found = snapshot(
        card(0, "unknown", "applying"), card(1, "pending", "not-applied"), status="cancelled",
        steps=("completed", "skipped"), events=events, completedAt=at(8),
    )  # fmt: skip
    lines = drawn(found, seconds=500)
    assert lines[0] == "shop  cancelled  0/2 ready  8.0 s"
    assert lines[2] == "└─ - Apply the documents  5.0 s"
    assert (
        lines[-1]
        == "cancelled; 0 of 2 documents were applied and stay in the cluster; of Deployment shop/web-0 it is not known"
    )


def test_a_run_whose_beginning_is_not_known_shows_no_invented_times() -> None:
    found = snapshot()
    found["events"] = found["events"][1:]
    assert drawn(found)[1] == "├─ ✓ Render the template"


def test_no_line_is_wider_than_the_terminal_and_the_status_still_shows() -> None:
    troubled = card(0, "failed", reason="CrashLoopBackOff", message="it ends again and again " * 5, hint="see its log")
    for width in (20, 30, 50, 80):
        lines = drawn(snapshot(troubled), room=Room(width=width))
        assert max(map(len, lines)) <= width
        assert any("✗" in line for line in lines)
    assert "see its log" in " ".join(line.strip() for line in drawn(snapshot(troubled), room=Room(width=30)))


def test_why_a_deployment_failed_is_told_to_its_end() -> None:
    long = " ".join(["because of this and that"] * 8)
    found = snapshot(status="failed", failure={"reason": "resource-failed", "message": long}, completedAt=at(9))
    lines = drawn(found, room=Room(width=40))
    assert max(map(len, lines)) <= 40
    assert f"resource-failed: {long}" in " ".join(lines)


def test_what_still_moves_is_shown_before_what_is_ready_and_the_rest_is_counted() -> None:
    cards = [card(index, "running") for index in range(40)]
    cards[35] = card(35, "failed", message="broken", hint="mend it")
    cards[20] = card(20, "creating", message="1 of 2")
    lines = drawn(snapshot(*cards), room=Room(height=12))
    assert len(lines) <= 12
    text = "\n".join(lines)
    assert "web-35" in text
    assert "hint: mend it" in text
    assert "web-20" in text
    assert "more, all ready" in text


def test_branches_need_no_special_characters() -> None:
    lines = drawn(snapshot(card(0, "running")), room=Room(ascii=True))
    assert lines[1].startswith("|- ")
    assert lines[3].startswith("   `- ")


def test_lineage_and_the_name_of_the_instance_are_told() -> None:
    found = snapshot(instance="shop-abc", predecessorId="0001", supersededBy="0003")
    assert drawn(found)[1:4] == ["instance: shop-abc", "in place of: 0001", "superseded by: 0003"]


def test_a_form_is_told_with_how_to_answer_it() -> None:
    field = {
        "key": "size", "type": "choice", "description": "How large", "default": "small", "required": True,
        "sensitive": False, "options": ["small", "large"], "condition": "inputs.expose === 'true'",
    }  # fmt: skip
    task = {"id": "0190", "asked": {"message": "needs values for: size", "inputs": [field]}}
    assert [line.plain for line in asked_lines(task)] == [
        "needs values for: size",
        "  size  How large  (choice; one of small, large; required; default small; if inputs.expose === 'true')",
        "answer with: locktender deployments input 0190",
    ]


def test_without_a_terminal_each_change_is_one_plain_line_and_nothing_is_said_twice() -> None:
    written = io.StringIO()
    console = Console(file=written, force_terminal=False, width=200)
    with TimelineView(console, FakeClock()) as view:
        first = snapshot(card(0, "creating", "applying"))
        view.show(first)
        view.show(first)
        done = snapshot(
            card(0, "running"), status="completed", steps=("completed", "completed"), completedAt=at(9),
            events=(("created", 0), ("started", 1), ("applying", 3), ("completed", 9)),
        )  # fmt: skip
        view.show(done)
    assert "\x1b" not in written.getvalue()
    assert written.getvalue().splitlines() == [
        "shop: applying",
        "  Render the template: completed after 2.0 s",
        "  Apply the documents: running",
        "  Deployment shop/web-0: applying, starting",
        "shop: completed",
        "  Apply the documents: completed after 6.0 s",
        "  Deployment shop/web-0: applied, ready",
    ]


def test_a_terminal_without_colours_gets_the_tree_without_colours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    written = io.StringIO()
    console = Console(file=written, force_terminal=True, width=80, height=30, legacy_windows=False)
    with TimelineView(console, FakeClock()) as view:
        view.show(snapshot(card(0, "running")))
    assert "Render the template" in written.getvalue()
    assert not any(f"\x1b[{colour}m" in written.getvalue() for colour in range(30, 38))


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(-1, "0.0 s"), (0.44, "0.4 s"), (9.96, "10 s"), (59.4, "59 s"), (65, "1 m 05 s"), (7500, "2 h 05 m")],
)
def test_lengths_of_time_are_short(seconds: float, words: str) -> None:
    assert span(seconds) == words
