"""Two ways to speak: to people on a console, to programs in JSON. Progress goes to standard error in JSON mode."""

import json
import sys
from typing import Any

from rich.console import Console, RenderableType
from rich.text import Text

from locktender.cli.exits import CommandError
from locktender.cli.local.steps import StepReport, StepState

_PIPE_WIDTH = 10_000


class _Screen(Console):
    def on_broken_pipe(self) -> None:
        """A reader that has gone ends a command in one way, whatever was written."""
        raise BrokenPipeError


class Output:
    """Where a command writes."""

    def __init__(self, *, as_json: bool) -> None:
        self.as_json = as_json
        self.console = _Screen(stderr=as_json, soft_wrap=False)
        if not self.console.is_terminal:
            # Whoever reads this through a pipe wants whole lines, not those of an imagined screen.
            self.console.width = _PIPE_WIDTH
        self._open: set[str] = set()

    def result(self, value: dict[str, Any]) -> None:
        """The one JSON object of a command; in JSON mode only."""
        if self.as_json:
            sys.stdout.write(json.dumps(value, separators=(",", ":"), ensure_ascii=False) + "\n")
            sys.stdout.flush()

    def say(self, text: RenderableType) -> None:
        """A line for people."""
        self.console.print(text, highlight=False, soft_wrap=True)

    def text(self, text: str) -> None:
        """What was asked for, as it is, without colours: for files and pipes as for eyes."""
        if not self.as_json:
            sys.stdout.write(text if text.endswith("\n") or not text else text + "\n")
            sys.stdout.flush()

    def warn(self, text: str) -> None:
        """A line for people that is not part of what was asked for: on standard error."""
        Console(stderr=True, soft_wrap=True, highlight=False).print(Text(text, style="yellow"))

    def step(self, report: StepReport) -> None:
        """A line of a long start."""
        match report.state:
            case StepState.STARTED:
                self._open.add(report.step)
                return
            case StepState.DONE:
                mark = Text("  ✓ ", style="green")
            case StepState.NOTE:
                mark = Text("  ! ", style="yellow")
        self.console.print(Text.assemble(mark, f"{report.step:<18}", (report.note, "dim")), soft_wrap=True)

    def problem(self, error: CommandError) -> None:
        """Why a command ends without success."""
        if self.as_json:
            self.result({"error": error.message, "hint": error.hint, "exitCode": int(error.code)})
        stderr = Console(stderr=True, soft_wrap=True, highlight=False)
        stderr.print(Text.assemble(("error: ", "red"), error.message))
        if error.hint:
            stderr.print(Text(error.hint, style="dim"))
