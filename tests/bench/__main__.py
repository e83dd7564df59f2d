"""`python -m tests.bench [FIGURE …]`: measure, and print one JSON line for each figure."""

import asyncio
import importlib
import sys
import time

import uvloop

from tests.bench.report import Figure, emit, note

FIGURES = (
    "e2e",
    "latency",
    "transitions",
    "relay",
    "cancel",
    "idle",
    "kill",
    "watch",
    "apply",
    "parse",
    "render",
    "streams",
    "analysis",
    "lanes",
    "tails",
    "confirm",
)


def main(arguments: list[str]) -> int:
    """0: all were measured. 1: one failed. 2: there is no such figure."""
    chosen = FIGURES if arguments in ([], ["all"]) else tuple(arguments)
    if unknown := sorted(set(chosen) - set(FIGURES)):
        note(f"there is no figure {', '.join(unknown)}; there are {', '.join(FIGURES)} and all")
        return 2
    return max(_measure(name) for name in chosen)


def _measure(name: str) -> int:
    note(f"measuring {name}")
    began = time.monotonic()
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        try:
            figure: Figure = runner.run(importlib.import_module(f"tests.bench.figures.{name}").measure())
        except Exception as error:  # noqa: BLE001 - the other figures are still worth having
            note(f"{name} failed: {type(error).__name__}: {error}")
            for cause in getattr(error, "exceptions", ()):
                note(f"  {type(cause).__name__}: {cause}")
            return 1
    emit(figure, time.monotonic() - began)
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
