"""What one check is: an invariant, a bounded statement that finds its violations, and how to say what was found."""

from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import BigInteger, ColumnElement, Select

from locktender.contracts.deployments.policy import Deadlines
from locktender.contracts.stacks.patience import StackDeadlines
from locktender.storage.kernel.clock import db_now, seconds
from locktender.storage.kernel.statement import Statement, parameter


@dataclass(frozen=True, slots=True)
class Violation:
    """An invariant that does not hold, of which row, and how it shows."""

    invariant: str
    subject: str
    message: str


@dataclass(frozen=True, slots=True)
class Tolerance:
    """What is not yet a violation, in seconds.

    Attributes:
        window: rows last changed longer ago are not looked at. Keep it below the retention of the outbox.
        publish: an outbox row may wait that long without a named reason.
        sweep: a passed deadline may stand that long before the reaper has to have acted.
        deadlines: those that the reaper goes by.
        stacks: the same for the work of stacks.
        limit: findings of one check, at most.
    """

    window: float = 43_200.0
    publish: float = 60.0
    sweep: float = 60.0
    deadlines: Deadlines = field(default_factory=Deadlines)
    stacks: StackDeadlines = field(default_factory=StackDeadlines)
    limit: int = 100

    def arguments(self) -> dict[str, object]:
        """The arguments that the statements may name."""
        return {
            "window": self.window,
            "publish": self.publish,
            "limit": self.limit,
            "sweep": self.sweep,
            "start": self.deadlines.start + self.sweep,
            "run": self.deadlines.run + self.sweep,
            "cancel_ack": self.deadlines.cancel_ack + self.sweep,
            "startup": self.stacks.startup + self.sweep,
        }


@dataclass(frozen=True, slots=True)
class Check:
    """A way in which an invariant can be broken. The statement answers with `subject` and `detail`, one row a break."""

    invariant: str
    message: str
    statement: Statement

    def violation(self, subject: str, detail: str) -> Violation:
        """What one row of the answer means."""
        return Violation(self.invariant, subject, f"{self.message} ({detail})")


def check(invariant: str, message: str, found: Select[*tuple[Any, ...]]) -> Check:
    """A check over `found`, cut off at the tolerated number of findings."""
    return Check(invariant, message, Statement(f"verify.{invariant}", found.limit(parameter("limit", BigInteger()))))


def recent(column: ColumnElement[Any]) -> ColumnElement[bool]:
    """Inside the window that is looked at."""
    return column >= db_now() - seconds("window")


def overdue(column: ColumnElement[Any], allowance: str) -> ColumnElement[bool]:
    """Longer ago than the named allowance."""
    return column <= db_now() - seconds(allowance)
