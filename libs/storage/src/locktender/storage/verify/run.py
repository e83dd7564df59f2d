"""All checks, one after another."""

from collections.abc import Mapping
from types import MappingProxyType

from locktender.storage.kernel.database import Database
from locktender.storage.verify import history, orphans, outbox
from locktender.storage.verify.check import Tolerance, Violation

CHECKS = (*outbox.CHECKS, *history.CHECKS, *orphans.CHECKS)

UNCHECKED: Mapping[str, str] = MappingProxyType({"I05": "there are no lanes yet"})
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
