"""A task as a tree: its steps with what they took, and its documents below the step that applies them."""

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from rich.text import Text

from locktender.cli.render.facts import endings, headline, lineage, plan_line, wait_line
from locktender.cli.render.timing import APPLYING_STEP, Stages
from locktender.cli.render.words import apply_text, card_mark, card_text, ref_text, span, step_mark

Snapshot = dict[str, Any]
Leaf = list[Text]
"""A line, and what stands below it."""

_NOTED = frozenset({"failed", "blocked", "unknown", "creating"})
_WRONG = frozenset({"failed", "blocked", "unknown"})
_FEWEST = 4
_NARROW, _NARROWEST = 72, 16
_MOST_LINES = 2
"""Lines of one note while the tree is redrawn. The last picture has all of it."""
_GAP = "   "
_INSET = 8


@dataclass(frozen=True, slots=True)
class Room:
    """How much there is to write on.

    Attributes:
        width: columns; a longer line ends with an ellipsis.
        height: lines, None for as many as it takes. What still moves is shown before what is ready.
        ascii: no other characters for the branches.
    """

    width: int = 120
    height: int | None = None
    ascii: bool = False


def tree(snapshot: Snapshot, stages: Stages, now: datetime, room: Room) -> Text:
    """The whole task, no line wider than the room. What is wrong is told to its end, over several lines if need be."""
    steps, cards = snapshot["timeline"]["steps"], snapshot["timeline"]["cards"]
    around = [headline(snapshot, now), *lineage(snapshot["task"]), *plan_line(snapshot)]
    after = [part for line in _after(snapshot, now) for part in wrapped(line, room.width)]
    space = None if room.height is None else room.height - len(around) - len(after) - len(steps) - 1
    branches: list[tuple[Text, list[Leaf]]] = []
    spent = stages.seconds(steps, now)
    for step in steps:
        took = f"  {span(spent[step['id']])}" if step["id"] in spent else ""
        label = Text.assemble(step_mark(step), " ", (step["label"], "" if step["status"] != "pending" else "dim"))
        label.truncate(max(room.width - len(_GAP) - len(took), _NARROWEST), overflow="ellipsis")
        label.append(took, style="dim")
        branches.append((label, _leaves(cards, space, room) if step["id"] == APPLYING_STEP else []))
    if cards and not any(step["id"] == APPLYING_STEP for step in steps):
        branches.append((Text("documents"), _leaves(cards, space, room)))
    lines = [*around, *_drawn(branches, ascii_only=room.ascii), *after]
    for line in lines:
        line.truncate(max(room.width, 1), overflow="ellipsis")
    return Text("\n").join(lines)


def wrapped(text: Text, width: int, most: int | None = None) -> list[Text]:
    """The text over as many lines as it takes, or over `most`."""
    parts = textwrap.wrap(text.plain, max(width, _NARROWEST), max_lines=most, placeholder="…", break_on_hyphens=False)
    return [text] if len(parts) < 2 else [Text(part, style=text.style) for part in parts]  # noqa: PLR2004 - it fits


def _after(snapshot: Snapshot, now: datetime) -> list[Text]:
    return [*wait_line(snapshot["task"], now), *endings(snapshot)]


def _drawn(branches: Sequence[tuple[Text, list[Leaf]]], *, ascii_only: bool) -> list[Text]:
    """The lines of a tree of two levels, with their branches."""
    fork, last, bar = ("|- ", "`- ", "|  ") if ascii_only else ("├─ ", "└─ ", "│  ")
    lines: list[Text] = []
    for number, (label, leaves) in enumerate(branches, start=1):
        ends = number == len(branches)
        lines.append(Text.assemble((last if ends else fork, "dim"), label))
        inset = _GAP if ends else bar
        for place, (first, *more) in enumerate(leaves, start=1):
            closes = place == len(leaves)
            lines.append(Text.assemble((inset + (last if closes else fork), "dim"), first))
            lines += [Text.assemble((inset + (_GAP if closes else bar), "dim"), line) for line in more]
    return lines


def _leaves(cards: Sequence[dict[str, Any]], space: int | None, room: Room) -> list[Leaf]:
    """The documents that there is room for: those that are not ready come first, and stay in their order."""
    width = min(max((len(ref_text(card["ref"])) for card in cards), default=0), room.width // 2)
    drawn = {card["index"]: _leaf(card, width, room) for card in cards}
    if space is not None and sum(map(len, drawn.values())) > (space := max(space, _FEWEST)):
        left, chosen = space - 1, set[int]()
        for card in sorted(cards, key=lambda each: (each["status"] == "running", each["status"] not in _WRONG)):
            left -= len(drawn[card["index"]])
            if left < 0:
                break
            chosen.add(card["index"])
        drawn = {index: leaf for index, leaf in drawn.items() if index in chosen}
    hidden = [card for card in cards if card["index"] not in drawn]
    if not hidden:
        return list(drawn.values())
    ready = ", all ready" if all(card["status"] == "running" for card in hidden) else ""
    return [*drawn.values(), [Text(f"… {len(hidden)} more{ready}", style="dim")]]


def _leaf(card: dict[str, Any], width: int, room: Room) -> Leaf:
    """A document, and below it what is wrong and what can be done, where that is."""
    line = Text.assemble(card_mark(card), " ", f"{_shortened(ref_text(card['ref']), width):<{width}}", "  ")
    narrow = room.width < _NARROW
    if not narrow:
        line.append_text(_padded(apply_text(card), 11))
    line.append_text(_padded(card_text(card), 8))
    below: list[Text] = []
    note = _note(card)
    if note and card["status"] in _WRONG:
        below += wrapped(Text(note, style="dim"), room.width - _INSET, _MOST_LINES if room.height else None)
    elif note:
        line.append(note, style="dim")
    if card["status"] in _WRONG and card.get("hint"):
        hint = Text(f"hint: {card['hint']}", style="dim")
        below += wrapped(hint, room.width - _INSET, _MOST_LINES if room.height else None)
    line.rstrip()
    return [line, *(Text.assemble("  ", part) for part in below)]


def _note(card: dict[str, Any]) -> str:
    """Why a document is not ready, with the reason as Kubernetes calls it."""
    if card["status"] not in _NOTED or not card.get("message"):
        return ""
    reason, message = str(card.get("reason") or ""), str(card["message"])
    return f"{reason}: {message}" if reason[:1].isupper() and reason not in message else message


def _shortened(name: str, width: int) -> str:
    """A name without its middle, since names of one deployment often begin alike, and differ at the end."""
    if len(name) <= width:
        return name
    end = max(width - 1, 1) // 2
    return f"{name[: width - 1 - end]}…{name[-end:]}"


def _padded(text: Text, width: int) -> Text:
    padded = text.copy()
    padded.append(" " * max(width - len(text), 1))
    return padded
