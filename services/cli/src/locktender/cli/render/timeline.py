"""A task in the terminal: one table that follows the snapshots, or one line a change where there is no terminal."""

from collections.abc import Iterator
from typing import Any, Self

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

from locktender.cli.render.words import apply_text, card_text, planned_numbers, ref_text, status_text

Snapshot = dict[str, Any]

_MARGIN = 8
_NOTE = 100


class TimelineView:
    """Shows snapshots as they come. Use as a context manager; `show` may be called at any rate."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._live = Live(console=console, refresh_per_second=12, transient=False) if console.is_terminal else None
        self._said: dict[str, str] = {}

    def __enter__(self) -> Self:
        if self._live is not None:
            self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._live is not None:
            self._live.stop()

    def show(self, snapshot: Snapshot) -> None:
        """The newest snapshot."""
        if self._live is not None:
            self._live.update(timeline(snapshot, height=self._console.height - _MARGIN))
            return
        for key, line in _lines(snapshot):
            if self._said.get(key) != line:
                self._said[key] = line
                self._console.print(line, highlight=False, soft_wrap=True)


def timeline(snapshot: Snapshot, *, height: int | None = None) -> RenderableType:
    """The whole task as one renderable; long lists keep what still moves in view."""
    cards = snapshot["timeline"]["cards"]
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim", expand=True)
    for title in ("resource", "applied", "ready", ""):
        table.add_column(title, no_wrap=True, overflow="ellipsis", ratio=1 if title == "" else None)
    shown = _window(cards, height)
    for card in shown:
        note = card.get("message") if card["status"] in {"failed", "blocked", "unknown", "creating"} else None
        table.add_row(ref_text(card["ref"]), apply_text(card), card_text(card), Text(note or "", style="dim"))
    parts: list[RenderableType] = [headline(snapshot)]
    parts += [Text(line, style="dim") for line in _plan(snapshot)]
    parts.append(table)
    if len(shown) < len(cards):
        parts.append(Text(f"… and {len(cards) - len(shown)} more", style="dim"))
    parts += [Text(line, style=style) for line, style in _failure(snapshot)]
    return Group(*parts)


def headline(snapshot: Snapshot) -> Text:
    """One line: name, status, how many are ready, what it waits for."""
    task, cards = snapshot["task"], snapshot["timeline"]["cards"]
    ready = sum(card["status"] == "running" for card in cards)
    line = Text.assemble((task["displayName"], "bold"), "  ", status_text(task))
    if cards:
        line.append(f"  {ready}/{len(cards)} ready", style="dim")
    if task.get("blockedBy"):
        line.append(f"  {task['blockedBy']['message']}", style="dim")
    return line


def _window(cards: list[dict[str, Any]], height: int | None) -> list[dict[str, Any]]:
    if height is None or len(cards) <= max(height, 1):
        return cards
    moving = [card for card in cards if card["status"] != "running"]
    chosen = {card["index"] for card in (moving or cards)[: max(height, 1)]}
    return [card for card in cards if card["index"] in chosen]


def _lines(snapshot: Snapshot) -> Iterator[tuple[str, str]]:
    task = snapshot["task"]
    status = status_text(task).plain
    yield "task", f"{task['displayName']}: {status}"
    yield from (("plan", f"  {line}") for line in _plan(snapshot))
    for card in snapshot["timeline"]["cards"]:
        if card["apply"] == "pending":
            continue
        note = f" ({_short(card['message'])})" if card.get("message") and card["status"] != "running" else ""
        yield f"card/{card['index']}", f"  {ref_text(card['ref'])}: {card['apply']}, {card_text(card).plain[2:]}{note}"
    for number, (line, _) in enumerate(_failure(snapshot)):
        yield f"failure/{number}", f"  {line}"


def _plan(snapshot: Snapshot) -> Iterator[str]:
    """What the run was going to do, in numbers, once that is known."""
    summary = snapshot["timeline"].get("plan")
    numbers = planned_numbers(summary) if summary else ""
    if numbers:
        yield f"plan: {numbers}"


def _failure(snapshot: Snapshot) -> Iterator[tuple[str, str]]:
    """Why the task failed, and what can be done about it, each with its style."""
    failure = snapshot["task"].get("failure")
    if not failure:
        return
    yield f"{failure['reason']}: {failure['message']}", "red"
    failed = [card for card in snapshot["timeline"]["cards"] if card["status"] == "failed"]
    hints: list[str] = [card["hint"] for card in failed if card.get("hint")]
    yield from ((f"hint: {hint}", "dim") for hint in dict.fromkeys(hints))


def _short(message: str) -> str:
    return message if len(message) <= _NOTE else message[: _NOTE - 1] + "…"
