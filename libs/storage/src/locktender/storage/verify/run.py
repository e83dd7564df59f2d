"""All checks, one after another."""

from collections.abc import Mapping
from types import MappingProxyType

from locktender.storage.kernel.database import Database
from locktender.storage.verify import history, lanes, orphans, outbox, stacks
from locktender.storage.verify.check import Tolerance, Violation

CHECKS = (*outbox.CHECKS, *history.CHECKS, *orphans.CHECKS, *stacks.CHECKS, *lanes.CHECKS)

INVARIANTS: Mapping[str, str] = MappingProxyType(
    {
        "I01": "no transition is lost: every event was told in order, or waits with a named reason",
        "I02": "one effect: an epoch has one owner, and nobody writes under an epoch that was never taken",
        "I03": "no write below the row's epoch, and none after the end",
        "I04": "terminal is final, and a cancel that was accepted is never overwritten",
        "I05": "one lane a stack: its holder works, nobody else does, and a deployment and its run agree",
        "I06": "no orphan: whoever is not over has a live lease, or waits with a deadline that has not passed",
    }
)
"""What is checked, in words."""

UNCHECKED: Mapping[str, str] = MappingProxyType({})
"""Invariants that the rows cannot tell about, and why."""


async def violations(database: Database, tolerance: Tolerance | None = None) -> list[Violation]:
    """Every violation that shows within the tolerance, in the order of the checks; none of a true history.

    Each check is one statement over one moment, and answers with at most `tolerance.limit` findings. It only reads,
    and can run beside living services.

    Raises:
        Unavailable: the database did not answer.
    """
    given = (tolerance or Tolerance()).arguments()
    return [
        check.violation(row["subject"], row["detail"])
        for check in CHECKS
        for row in await database.fetch(check.statement, **given)
    ]
