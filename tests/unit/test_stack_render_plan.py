"""A plan of a stack as people read it in the terminal: whole, in the colours of its marks, and honest about gaps."""

import pytest
from rich.text import Text

from locktender.cli.render.stacks.plan import plan_lines
from locktender.contracts.stacks.analysis import ChangeAction, PlanChanges, StateOp, StateOpKind
from locktender.testkit.stack_views import CHANGES, change, run_view, shown


def lines(changes: PlanChanges | None = CHANGES, **run: object) -> list[Text]:
    return list(plan_lines(shown(run_view(**run)), None if changes is None else shown(changes)))


def plain(changes: PlanChanges | None = CHANGES, **run: object) -> list[str]:
    return [line.plain for line in lines(changes, **run)]


def test_what_changed_outside_comes_apart_and_the_numbers_come_last_with_their_gaps() -> None:
    assert plain() == [
        "Changed outside of the engine; no apply of this plan does that:",
        "  # null_resource.gone is gone",
        '  - resource "null_resource" "gone" {',
        "    }",
        "",
        "  # null_resource.a will be created",
        '  + resource "null_resource" "a" {',
        '      + id = "x"',
        "    }",
        "",
        "  # null_resource.b will be updated in place",
        "  # moved from null_resource.old",
        "  # it is tainted",
        '  ~ resource "null_resource" "b" {',
        '      ~ n = "1" -> "2"',
        "    }",
        "",
        "Outputs:",
        '      ~ url = "a" -> "b"',
        "",
        "Plan: At least 1 to create, 1 to update, 1 moved, 1 output changed: the plan was narrowed to some resources.",
    ]


@pytest.mark.parametrize(
    ("diff", "colour"),
    [
        ('+ resource "a" "b" {', "green"),
        ('        - id = "x"', "red"),
        ('    ~ n = 1 -> 2 # -> "c"', "yellow"),
        ('-/+ resource "a" "b" {', "magenta"),
        ("    # (2 unchanged attributes hidden)", "dim"),
        ("  }", ""),
    ],
)
def test_each_line_has_the_colour_of_its_mark(diff: str, colour: str) -> None:
    changes = PlanChanges(resources=(change("a.b", ChangeAction.UPDATE, diff),))
    assert [str(line.style) for line in lines(changes) if line.plain == "  " + diff] == [colour]


def test_replacements_imports_and_what_is_forgotten_say_what_they_are() -> None:
    imported = StateOp(kind=StateOpKind.IMPORT, id="i-1")
    forgotten = StateOp(kind=StateOpKind.FORGET)
    told = plain(
        PlanChanges(
            resources=(
                change("a.replaced", ChangeAction.REPLACE),
                change("a.before", ChangeAction.REPLACE, create_first=True),
                change("a.imported", ChangeAction.NO_OP, state_ops=(imported,)),
                change("a.left", ChangeAction.FORGET, state_ops=(forgotten,)),
                change("a.anew", ChangeAction.CREATE, state_ops=(forgotten,)),
                change("a.strange", ChangeAction.UNKNOWN),
            )
        )
    )
    assert [line for line in told if line.startswith("  #")] == [
        "  # a.replaced must be replaced",
        "  # a.before must be replaced; the new one is created first",
        "  # a.imported stays as it is",
        '  # imported as "i-1"',
        "  # a.left will be forgotten; it lives on outside of the state",
        "  # forgotten",
        "  # a.anew will be created anew; the old one is forgotten and lives on",
        "  # forgotten",
        "  # a.strange has an action that is not known here",
    ]


def test_a_plan_that_was_not_analysed_is_never_shown_as_one_without_changes() -> None:
    assert plain(None, plan=None) == [
        "What would change in detail is not known here. The log shows it.",
        "",
        "Plan: It has changes; how many is not known.",
    ]


def test_nothing_that_a_terminal_would_obey_is_passed_on() -> None:
    evil = change("a.b\x1b[2J", ChangeAction.CREATE, "+ x = \x1b]0;title\x07\x1b[31mred\x1b[0m\r\x08")
    told = "\n".join(plain(PlanChanges(resources=(evil,))))
    assert "+ x = red" in told
    assert not any(char in told for char in "\x1b\x07\r\x08")
