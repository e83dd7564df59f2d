"""What a deployment is at, on a screen that moves or in lines that stay, with as much of the log as was asked for."""

from collections import deque
from typing import Any, Self

from rich.console import Console, Group
from rich.live import Live
from rich.spinner import Spinner
from rich.text import Text

from locktender.cli.render.stacks.deployment import stage_title, status_line
from locktender.cli.render.stacks.words import visible

Json = dict[str, Any]

_TAIL = 20
"""Lines of the log that are shown of a failure, where it was not followed."""
_UNDER_WAY = {"waiting", "running", "requested_cancellation", "cancelling"}


class StatusLine:
    """What a deployment is at.

    Without a terminal, each change is a line of its own. With one, the line moves; where the log is not followed, its
    last line is below, and each stage that ends leaves a line.

    `log`: follow it. None: only without a terminal.
    """

    def __init__(self, console: Console, *, log: bool | None) -> None:
        self._console = console
        self._said = ""
        moves = console.is_terminal and not console.is_dumb_terminal
        self._log = not moves if log is None else log
        self._live = Live(console=console, transient=True, refresh_per_second=8) if moves else None
        self._spinner = Spinner("dots", style="blue")
        self._tail: deque[str] = deque(maxlen=_TAIL)
        self._last = ""
        self._ended: set[int] | None = None

    def __enter__(self) -> Self:
        if self._live is not None:
            self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._live is not None:
            self._live.stop()

    def show(self, deployment: Json) -> None:
        """What it is at."""
        line = status_line(deployment)
        if self._live is None:
            if line.plain != self._said:
                self._console.print(line, highlight=False, soft_wrap=True)
            self._said = line.plain
            return
        if not self._log:
            self._leave(deployment["stages"])
        self._spinner.update(text=self._cut(line))
        self._move()

    def log(self, text: str) -> None:
        """A line of a log."""
        shown = visible(text)
        if self._log:
            self._console.print(Text(shown, style="dim"), highlight=False, soft_wrap=True)
            return
        self._tail.append(shown)
        if shown[:1].isalnum():
            # What is indented, or a bracket, is a part of something; it tells nobody how far the engine is.
            self._last = shown
            self._move()

    def fail(self) -> None:
        """Show the end of a log that was not followed."""
        if self._tail:
            self._console.print(Text("the end of the log:", style="bold"))
        for line in self._tail:
            self._console.print(Text(f"  {line}", style="dim"), highlight=False, soft_wrap=True)
        self._tail.clear()

    def _leave(self, stages: list[Json]) -> None:
        """A line for each stage that has ended while somebody looked; its log is behind it, then."""
        ended = {stage["ordinal"] for stage in stages if stage["phase"] not in _UNDER_WAY}
        for stage in stages if self._ended is not None else ():
            if stage["ordinal"] in ended - (self._ended or set()):
                self._console.print(stage_title(stage), highlight=False, soft_wrap=True)
        self._ended = ended

    def _move(self) -> None:
        if self._live is not None:
            last = self._cut(Text(f"  {self._last}", style="dim"))
            self._live.update(Group(self._spinner, last) if self._last else self._spinner)

    def _cut(self, line: Text) -> Text:
        line.truncate(max(self._console.width - 2, 1), overflow="ellipsis")
        return line
