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
