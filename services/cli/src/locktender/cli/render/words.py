"""Colours and words for what the API says."""

from typing import Any

from rich.text import Text

_STATUS = {
    "queued": "dim", "running": "blue", "applying": "blue", "blocked": "yellow",
    "completed": "green", "failed": "red", "cancelled": "dim",
}  # fmt: skip
_CARD = {
    "pending": ("·", "dim"), "creating": ("◌", "blue"), "running": ("●", "green"),
    "blocked": ("◍", "yellow"), "failed": ("✗", "red"), "unknown": ("?", "yellow"),
}  # fmt: skip
_CARD_WORDS = {"running": "ready", "pending": "waiting", "creating": "starting"}
_APPLY = {"pending": "dim", "not-applied": "dim", "applying": "blue", "refused": "red"}


def status_text(task: dict[str, Any]) -> Text:
    """The status of a task; a requested cancel shows."""
    status = str(task["status"])
    if task.get("cancelRequestedAt") and not task.get("completedAt"):
        return Text("cancelling", style="yellow")
    return Text(status, style=_STATUS.get(status, ""))


def card_text(card: dict[str, Any]) -> Text:
    """How ready the object of a card is."""
    status = str(card["status"])
    mark, style = _CARD.get(status, ("?", ""))
    return Text(f"{mark} {_CARD_WORDS.get(status, status)}", style=style)


def apply_text(card: dict[str, Any]) -> Text:
    """Whether the document was applied."""
    state = str(card["apply"])
    return Text(state, style=_APPLY.get(state, "green"))


def ref_text(ref: dict[str, Any]) -> str:
    """`Kind name`, with the namespace where there is one."""
    where = f"{ref['namespace']}/" if ref.get("namespace") else ""
    return f"{ref['kind']} {where}{ref['name']}"


_PLANNED = (
    ("create", "to create"), ("change", "to change"), ("replace", "to replace"), ("unchanged", "unchanged"),
    ("conflict", "in conflict"), ("refused", "refused"), ("unknown", "not known yet"),
)  # fmt: skip


def planned_numbers(summary: dict[str, Any]) -> str:
    """`3 to create, 1 to change, 12 unchanged`; empty for a plan of nothing."""
    return ", ".join(f"{summary[action]} {words}" for action, words in _PLANNED if summary.get(action))
