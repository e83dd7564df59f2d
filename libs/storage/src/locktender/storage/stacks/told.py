"""What the event of a move says, and the trail of who did what."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from uuid import UUID

from sqlalchemy import Text, Uuid, insert
from sqlalchemy.dialects.postgresql import JSONB

from locktender.contracts.stacks.vocabulary import ActivityKind
from locktender.storage.kernel.database import Transaction
from locktender.storage.kernel.statement import Statement, parameter
from locktender.storage.stacks.tables import stack_activity

_ACT = Statement(
    "stack_activity.act",
    insert(stack_activity).values(
        deployment_id=parameter("deployment_id", Uuid()),
        kind=parameter("kind", Text()),
        actor=parameter("actor", Text()),
        stage_id=parameter("stage_id", Uuid()),
        details=parameter("details", JSONB()),
    ),
)


@dataclass(frozen=True, slots=True)
class Told:
    """The words that go with a move: who, in one sentence what, and facts for machines. Never a secret.

    `actor` is a principal's name, or the name of a service. `trace` holds W3C trace headers.
    """

    actor: str
    message: str = ""
    payload: Mapping[str, object] = field(default_factory=dict[str, object])
    trace: Mapping[str, str] = field(default_factory=dict[str, str])

    def columns(self) -> dict[str, object]:
        """The arguments of a move that is an event."""
        return {
            "actor": self.actor,
            "message": self.message,
            "payload": json.dumps(dict(self.payload)),
            "trace": json.dumps(dict(self.trace)),
        }


async def act(
    tx: Transaction,
    deployment_id: UUID,
    kind: ActivityKind,
    actor: str | None,
    *,
    stage_id: UUID | None = None,
    details: Mapping[str, object] | None = None,
) -> None:
    """Add to the trail of a deployment. At most once a transaction, which the database enforces."""
    await tx.fetch(
        _ACT, deployment_id=deployment_id, kind=kind.value, actor=actor, stage_id=stage_id,
        details=json.dumps(dict(details or {})),
    )  # fmt: skip
