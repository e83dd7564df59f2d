"""What a long start tells the person who waits for it."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum


class StepState(StrEnum):
    """How far a step is."""

    STARTED = "started"
    DONE = "done"
    NOTE = "note"


@dataclass(frozen=True, slots=True)
class StepReport:
    """One line of progress."""

    step: str
    state: StepState
    note: str = ""


Report = Callable[[StepReport], None]
