"""The trail of a deployment in words, with the end that is derived from the deployment itself. Pure."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from locktender.contracts.stacks.policy import SuppressReason
from locktender.contracts.stacks.views import ActivityEntry, DeploymentEntry
from locktender.contracts.stacks.vocabulary import ActivityKind
from locktender.storage.kernel.database import Row

_SUPPRESSED = {
    SuppressReason.DESTRUCTIVE: "the plan deletes or replaces",
    SuppressReason.INCOMPLETE: "the plan was not wholly measured",
    SuppressReason.UNCERTAIN: "what an earlier apply did is unknown",
}
_DID = {
    ActivityKind.CREATED: "asked for it",
    ActivityKind.CONFIRMED_APPLY: "confirmed the plan",
    ActivityKind.CONFIRMED_REPLAN: "asked for another plan",
    ActivityKind.CONFIRMED_SKIP: "decided not to apply it",
    ActivityKind.SKIPPED: "skipped it",
    ActivityKind.CANCELLATION_REQUESTED: "asked to stop it",
    ActivityKind.PRIORITIZED: "moved it ahead of others",
    ActivityKind.DEPRIORITIZED: "moved it back into line",
}


def entries(rows: Sequence[Row], deployment: DeploymentEntry) -> tuple[ActivityEntry, ...]:
    """What was done, oldest first, and the end where there is one."""
    acts = [_act(row) for row in rows]
    if deployment.completed_at is not None:
        acts.append(
            ActivityEntry(
                kind=None, status=deployment.status, actor=None, message=deployment.ending or "", details={},
                stage_ordinal=None, at=deployment.completed_at,
            )
        )  # fmt: skip
    return tuple(acts)


def _act(row: Row) -> ActivityEntry:
    kind, details = ActivityKind(row["kind"]), json.loads(row["details"])
    return ActivityEntry(
        kind=kind, status=None, actor=row["actor"], message=_words(kind, row["actor"], details), details=details,
        stage_ordinal=row["ordinal"], at=row["created_at"],
    )  # fmt: skip


def _words(kind: ActivityKind, actor: str | None, details: Mapping[str, Any]) -> str:
    match kind:
        case ActivityKind.AUTO_APPLIED:
            blind = ", without knowing the counts" if details.get("blind") else ""
            return f"The stack applies by itself{blind}."
        case ActivityKind.AUTO_APPROVE_SUPPRESSED:
            known = details.get("reason") in set(SuppressReason)
            why = _SUPPRESSED[SuppressReason(details["reason"])] if known else "its setting does not allow it"
            return f"The stack did not apply it by itself: {why}."
        case _:
            return f"{actor or 'Locktender'} {_DID[kind]}."
