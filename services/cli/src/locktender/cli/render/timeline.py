"""Following a task in the terminal: a tree that is redrawn, or one line a change where there is no such terminal."""

from collections.abc import Iterator
from typing import Any, Self

from rich.console import Console, RenderableType
from rich.live import Live
from rich.text import Text

from locktender.cli.render.facts import endings, plan_line
from locktender.cli.render.timing import Stages
from locktender.cli.render.tree import Room, tree
from locktender.cli.render.words import card_text, ref_text, span, status_text
from locktender.contracts.kernel.clock import Clock

Snapshot = dict[str, Any]

_BELOW = 2
"""Lines of the terminal that stay free: a tree that fills it to the last line flickers."""
_REDRAWN = 8
"""Times a second."""
_NOTE = 100
_PIPE = 10_000


class TimelineView:
    """Shows snapshots as they come. Use as a context manager; `show` may be called at any rate."""

    def __init__(self, console: Console, clock: Clock, stages: Stages | None = None) -> None:
        self._console = console
        self._clock = clock
        self._stages = stages or Stages()
        self._latest: Snapshot | None = None
        self._said: dict[str, str] = {}
        self._over = False
        self._live = (
            Live(console=console, refresh_per_second=_REDRAWN, get_renderable=self._tree, vertical_overflow="crop")
            if console.is_terminal and not console.is_dumb_terminal
            else None
        )

    def __enter__(self) -> Self:
        if self._live is not None:
            self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._live is not None:
            # The last picture stays, so it is whole.
            self._over = True
            self._live.stop()

    def show(self, snapshot: Snapshot) -> None:
        """The newest snapshot."""
        self._latest = snapshot
        self._stages.learn(snapshot["events"])
        if self._live is not None:
            return
        for key, line in self._lines(snapshot):
            if self._said.get(key) != line:
                self._said[key] = line
                self._console.print(line, highlight=False, soft_wrap=True, markup=False)

    def _tree(self) -> RenderableType:
        if self._latest is None:
            return Text()
        height = None if self._over else self._console.height - _BELOW
        return tree(self._latest, self._stages, self._clock.now(), room_of(self._console, height))

    def _lines(self, snapshot: Snapshot) -> Iterator[tuple[str, str]]:
        """Every fact as a line of its own; a line that was said before is not said again."""
        task, timeline = snapshot["task"], snapshot["timeline"]
        yield "task", f"{task['displayName']}: {status_text(task).plain}"
        if task.get("blockedBy"):
            yield "wait", f"  {task['blockedBy']['message']}"
        if task.get("instance"):
            yield "instance", f"  instance: {task['instance']}"
        yield from (("plan", f"  {line.plain}") for line in plan_line(snapshot))
        spent = self._stages.seconds(timeline["steps"], self._clock.now())
        for step in timeline["steps"]:
            if step["status"] != "pending":
                # While it runs, its time changes with every look.
                over = step["status"] != "running" and step["id"] in spent
                took = f" after {span(spent[step['id']])}" if over else ""
                yield f"step/{step['id']}", f"  {step['label']}: {step['status']}{took}"
        for card in timeline["cards"]:
            if card["apply"] != "pending":
                yield f"card/{card['index']}", _card_line(card)
        for number, line in enumerate(endings(snapshot)):
            yield f"ending/{number}", f"  {line.plain}"


def room_of(console: Console, height: int | None = None) -> Room:
    """How much there is to write on. Whoever reads through a pipe wants whole lines."""
    return Room(console.width if console.is_terminal else _PIPE, height, ascii=not _draws_boxes(console))


def _card_line(card: dict[str, Any]) -> str:
    note = f" ({_short(card['message'])})" if card.get("message") and card["status"] != "running" else ""
    hint = f"; hint: {card['hint']}" if card.get("hint") and card["status"] in {"failed", "blocked"} else ""
    return f"  {ref_text(card['ref'])}: {card['apply']}, {card_text(card).plain}{note}{hint}"


def _draws_boxes(console: Console) -> bool:
    return console.encoding.lower().startswith("utf")


def _short(message: str) -> str:
    return message if len(message) <= _NOTE else message[: _NOTE - 1] + "…"
