"""Colours and words for what the API says. How a task is shown is declared in the contracts, for every client alike."""

from typing import Any

from rich.text import Text

from locktender.contracts.deployments.presentation import PRESENTATIONS, DisplayState, Hue

_STYLES = {Hue.BLUE: "blue", Hue.GREEN: "green", Hue.AMBER: "yellow", Hue.RED: "red", Hue.NEUTRAL: "dim"}
_CARD = {
    "pending": ("·", "dim"), "creating": ("◌", "blue"), "running": ("●", "green"),
    "blocked": ("◍", "yellow"), "failed": ("✗", "red"), "unknown": ("?", "yellow"),
}  # fmt: skip
_CARD_WORDS = {"running": "ready", "pending": "waiting", "creating": "starting"}
_STEP = {
    "pending": ("·", "dim"), "running": ("◌", "blue"), "completed": ("✓", "green"),
    "blocked": ("◍", "yellow"), "failed": ("✗", "red"), "skipped": ("-", "dim"),
}  # fmt: skip
_APPLY = {"pending": "dim", "not-applied": "dim", "applying": "blue", "refused": "red", "removed": "dim"}


def status_text(task: dict[str, Any]) -> Text:
    """What a task is, in the words and the colour of the presentation table."""
    state = str(task.get("presentation") or task["status"])
    if state not in set(DisplayState):
        # An API that is newer than this command may know more states.
        return Text(state)
    shown = PRESENTATIONS[DisplayState(state)]
    return Text(shown.label.lower(), style=_STYLES[shown.hue])


def card_text(card: dict[str, Any]) -> Text:
    """How ready the object of a card is."""
    status = str(card["status"])
    _, style = _CARD.get(status, ("?", ""))
    return Text(_CARD_WORDS.get(status, status), style=style)


def card_mark(card: dict[str, Any]) -> Text:
    """The same as one character."""
    return Text(*_CARD.get(str(card["status"]), ("?", "")))


def step_mark(step: dict[str, Any]) -> Text:
    """How far a step is, as one character."""
    return Text(*_STEP.get(str(step["status"]), ("?", "")))


def apply_text(card: dict[str, Any]) -> Text:
    """Whether the document was applied."""
    state = str(card["apply"])
    return Text(state, style=_APPLY.get(state, "green"))


def ref_text(ref: dict[str, Any]) -> str:
    """`Kind name`, with the namespace where there is one."""
    where = f"{ref['namespace']}/" if ref.get("namespace") else ""
    return f"{ref['kind']} {where}{ref['name']}"


def span(seconds: float) -> str:
    """A length of time: `0.4 s`, `12 s`, `3 m 05 s`, `2 h 10 m`."""
    if seconds < 9.95:  # noqa: PLR2004 - beyond it, tenths tell nobody anything
        return f"{max(seconds, 0.0):.1f} s"
    whole = round(seconds)
    minutes, rest = divmod(whole, 60)
    hours, more = divmod(minutes, 60)
    if hours:
        return f"{hours} h {more:02} m"
    return f"{minutes} m {rest:02} s" if minutes else f"{whole} s"


_PLANNED = (
    ("create", "to create"), ("change", "to change"), ("replace", "to replace"), ("unchanged", "unchanged"),
    ("conflict", "in conflict"), ("refused", "refused"), ("unknown", "not known yet"),
)  # fmt: skip


def planned_numbers(summary: dict[str, Any]) -> str:
    """`3 to create, 1 to change, 12 unchanged`; empty for a plan of nothing."""
    return ", ".join(f"{summary[action]} {words}" for action, words in _PLANNED if summary.get(action))
