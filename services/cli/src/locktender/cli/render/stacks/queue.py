"""The queue in the terminal: both lines that deployments stand in, with the reason and who is in the way."""

from collections.abc import Iterator
from datetime import datetime
from typing import Any

from rich.console import RenderableType
from rich.text import Text

from locktender.cli.render.listing import Listing
from locktender.cli.render.stacks.words import age, mode_word, visible

Json = dict[str, Any]

_TITLES = {"runner": "Waiting for a runner", "lane": "Waiting for the lane of their stack"}


def queue_parts(queue: Json, now: datetime) -> Iterator[RenderableType]:
    """First what only needs a runner, then what waits behind others of its stack."""
    for layer, title in _TITLES.items():
        entries = [entry for entry in queue["entries"] if entry["layer"] == layer]
        yield Text(f"{title}: {len(entries) or 'nothing'}", style="bold" if entries else "dim")
        if entries:
            yield Listing(("place", "deployment", "mode", "group", "by", "age", "why"), _rows(entries, now))
    if queue["truncated"]:
        yield Text("more is waiting than is shown", style="yellow")
    if queue["groups"]:
        yield Text("Runner groups", style="bold")
    for group in queue["groups"]:
        room = "no limit of its own" if group["capacity"] is None else f"at most {group['capacity']}"
        labels = f"  {', '.join(group['labels'])}" if group["labels"] else ""
        yield Text.assemble(f"  {group['name']}: {group['running']} running, {room}", (labels, "dim"))


def _rows(entries: list[Json], now: datetime) -> list[tuple[str | Text, ...]]:
    return [
        (
            "-" if entry["position"] is None else str(entry["position"]),
            f"{entry['stack']} #{entry['number']}" + (" (first)" if entry["prioritizedAt"] else ""),
            mode_word(entry["mode"]),
            ", ".join([entry["runnerGroup"], *entry["labels"]]),
            entry["createdBy"] or "-",
            age(entry["createdAt"], now),
            _why(entry),
        )
        for entry in entries
    ]


def _why(entry: Json) -> str:
    """The reason, and who is in the way where the reason does not say it."""
    reason, ahead = visible(entry["reason"]), entry["blockedBy"]["deploymentNumber"]
    return reason if ahead is None or f"#{ahead}" in reason else f"{reason} (behind #{ahead})"
