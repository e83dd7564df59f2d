"""The same deployment once more: a new one, without a link to the old one, which stays as it is."""

import json
from collections.abc import Callable, Mapping
from typing import Final
from uuid import UUID

from sqlalchemy import Text, Uuid, cast, select

from locktender.contracts.kernel.ids import new_id
from locktender.contracts.stacks.flow import STACK_DEPLOYMENT, DeploymentStatus
from locktender.contracts.stacks.vocabulary import DeploymentMode, Origin
from locktender.contracts.stacks.wire import Narrowing
from locktender.storage.kernel.clock import db_now, seconds
from locktender.storage.kernel.database import Database, Row, Transaction
from locktender.storage.kernel.statement import Statement, constant, parameter
from locktender.storage.stacks.create import NewDeployment, create
from locktender.storage.stacks.held import held_deployment
from locktender.storage.stacks.refusals import NotRetryable
from locktender.storage.stacks.tables import stack_deployment, stack_run

DEBOUNCE_SECONDS: Final = 5.0
"""Two clicks are one wish."""

Reseal = Callable[[UUID, UUID, bytes], bytes]
"""The old deployment, the new one, and the script as sealed for the old one; the same, sealed for the new one."""

_d, _r = stack_deployment.c, stack_run.c
_JUST_MADE = Statement(
    "stack_deployment.just_made",
    select(_d.number)
    .where(
        _d.stack_id == parameter("stack_id", Uuid()),
        _d.commit_sha == parameter("commit_sha", _d.commit_sha.type),
        _d.created_at > db_now() - seconds("within"),
        _d.id != parameter("id", Uuid()),
    )
    .limit(1),
)
_FIRST_RUN = Statement(
    "stack_run.first",
    select(_r.targets, _r.excludes, _r.replaces)
    .where(_r.deployment_id == parameter("id", Uuid()))
    .order_by(_r.created_at, _r.id)
    .limit(1),
)


_ARCHIVE = Statement(
    "stack_deployment.archive",
    select(
        _d.stack_id.label("id"), _d.workspace, cast(_d.source.op("->>")(constant("sha256")), Text).label("sha256")
    ).where(_d.id == parameter("id", Uuid()), _d.source.op("->>")(constant("kind")) == constant("archive")),
)


async def archive_of(database: Database, deployment_id: UUID) -> Row | None:
    """The archive that a deployment is of: its `sha256`, `workspace`, and the `id` of its stack. None: no archive."""
    return await database.fetch_one(_ARCHIVE, id=deployment_id)


async def retry(
    tx: Transaction,
    deployment_id: UUID,
    actor: str,
    *,
    request_digest: bytes,
    trace: Mapping[str, str],
    idempotency_key: str | None = None,
    note: str = "",
    reseal: Reseal | None = None,
) -> Row:
    """Make a deployment of the same mode, commit, source, script and first narrowing; its row.

    What a person started, or retried, becomes of the origin `retry`. Any other origin is kept, as what it means for
    the deployment (a pull request's, a push's) is true of the new one too. A priority is not inherited.

    Raises:
        NotFound: there is no such deployment.
        NotRetryable: it has not ended, is of a working tree, or there is another one of this commit just now.
        asyncpg.UniqueViolationError: the idempotency key was used before.
    """
    owner, old = await held_deployment(tx, deployment_id)
    if DeploymentStatus(old["status"]) not in STACK_DEPLOYMENT.terminal:
        raise NotRetryable(deployment_id, f"The deployment is {old['status']}; only one that is over can be retried.")
    origin = Origin(old["origin"])
    if origin is Origin.LOCAL:
        raise NotRetryable(deployment_id, "A plan of a working tree cannot be retried. Send the tree again.")
    other = await tx.fetch_one(
        _JUST_MADE, stack_id=owner["id"], commit_sha=old["commit_sha"], within=DEBOUNCE_SECONDS, id=deployment_id
    )
    if other is not None:
        raise NotRetryable(deployment_id, f"Deployment {other['number']} of the same commit was made just now.")
    run = await tx.fetch_one(_FIRST_RUN, id=deployment_id)
    key, script = new_id(), old["raw_script"]
    new = NewDeployment(
        id=key,
        mode=DeploymentMode(old["mode"]),
        origin=Origin.RETRY if origin is Origin.MANUAL else origin,
        source=json.loads(old["source"]),
        commit_sha=old["commit_sha"],
        commit=json.loads(old["commit"]),
        created_by=actor,
        request_digest=request_digest,
        narrowing=Narrowing() if run is None else _narrowing(run),
        raw_script=script if script is None or reseal is None else reseal(deployment_id, key, script),
        note=note,
        idempotency_key=idempotency_key,
    )
    return await create(tx, owner, new, trace)


def _narrowing(run: Row) -> Narrowing:
    return Narrowing(**{name: tuple(json.loads(run[name])) for name in ("targets", "excludes", "replaces")})
