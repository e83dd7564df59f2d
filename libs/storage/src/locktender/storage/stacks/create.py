"""A new deployment: its first stage and run, and its place behind the lane, in one transaction."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from uuid import UUID

from sqlalchemy import Table, Uuid, func, insert, select, update

from locktender.contracts.kernel.ids import new_id
from locktender.contracts.stacks.events import CREATED
from locktender.contracts.stacks.vocabulary import (
    ActivityKind,
    DeploymentMode,
    Origin,
    RunMode,
    StageKind,
    first_run_of,
    stage_of,
)
from locktender.contracts.stacks.wire import Narrowing
from locktender.storage.kernel.database import Row, Transaction
from locktender.storage.kernel.events import event_rows, outbox_events, outbox_rows
from locktender.storage.kernel.statement import Statement, parameter
from locktender.storage.stacks import transitions
from locktender.storage.stacks.lane import advance
from locktender.storage.stacks.moves import told_columns
from locktender.storage.stacks.skip import supersede
from locktender.storage.stacks.tables import STACKS, stack, stack_deployment, stack_run, stack_stage
from locktender.storage.stacks.told import Told, act

_NUMBER = Statement(
    "stack.number",
    update(stack)
    .where(stack.c.id == parameter("stack_id", Uuid()))
    .values(last_number=stack.c.last_number + 1)
    .returning(stack.c.last_number),
)


def _insert(table: Table, *names: str) -> Statement:
    values = {name: parameter(name, table.c[name].type) for name in names}
    return Statement(f"{table.name}.add", insert(table).values(**values).returning(*table.c))


_DEPLOYMENT_COLUMNS = (
    "id", "workspace", "stack_id", "number", "mode", "origin", "source", "commit_sha", "commit", "raw_script",
    "created_by", "note", "idempotency_key", "request_digest",
)  # fmt: skip
_STAGE = _insert(stack_stage, "id", "deployment_id", "ordinal", "kind", "run_id")
_RUN = _insert(
    stack_run, "id", "workspace", "stack_id", "deployment_id", "mode", "runner_group", "labels", "state_locked",
    "targets", "excludes", "replaces", "plan_run_id", "prioritized_at",
)  # fmt: skip
_ORDINAL = Statement(
    "stack_stage.ordinal",
    select(func.coalesce(func.max(stack_stage.c.ordinal), 0).label("last")).where(
        stack_stage.c.deployment_id == parameter("deployment_id", Uuid())
    ),
)


def _deployment() -> Statement:
    made = (
        insert(stack_deployment)
        .values({name: parameter(name, stack_deployment.c[name].type) for name in _DEPLOYMENT_COLUMNS})
        .returning(*stack_deployment.c, *told_columns())
        .cte("made")
    )
    return Statement(
        "stack_deployment.create",
        select(*[made.c[column.name] for column in stack_deployment.c])
        .add_cte(event_rows(STACKS, made, CREATED, made.c.actor))
        .add_cte(outbox_rows(outbox_events(STACKS, made, CREATED))),
    )


_CREATE = _deployment()


@dataclass(frozen=True, slots=True)
class NewDeployment:
    """A deployment to be made. `source` is the stack's at this moment, `commit` what is shown of the commit.

    Attributes:
        created_by: None where nobody is known to have asked for it.
        raw_script: encrypted; only of mode raw.
        request_digest: of the request, for idempotency.
    """

    mode: DeploymentMode
    origin: Origin
    source: Mapping[str, object]
    commit_sha: str
    commit: Mapping[str, object]
    created_by: str | None
    request_digest: bytes
    id: UUID = field(default_factory=new_id)
    narrowing: Narrowing = field(default_factory=Narrowing)
    raw_script: bytes | None = None
    note: str = ""
    idempotency_key: str | None = None
    details: Mapping[str, object] = field(default_factory=dict[str, object])


async def create(tx: Transaction, owner: Row, new: NewDeployment, trace: Mapping[str, str]) -> Row:
    """Add the deployment to the stack whose locked row is `owner`, and let the lane decide what it waits for.

    Returns the deployment's row as it was inserted; read it again for what the lane made of it.

    Raises:
        asyncpg.UniqueViolationError: the idempotency key was used before.
    """
    numbered = await tx.fetch_one(_NUMBER, stack_id=owner["id"])
    if numbered is None:
        raise AssertionError("a locked stack is there")
    told = Told(new.created_by or "api", trace=trace, payload={"origin": new.origin.value})
    made = await tx.fetch_one(
        _CREATE,
        id=new.id, workspace=owner["workspace"], stack_id=owner["id"], number=numbered["last_number"],
        mode=new.mode.value, origin=new.origin.value, source=json.dumps(dict(new.source)), commit_sha=new.commit_sha,
        commit=json.dumps(dict(new.commit)), raw_script=new.raw_script, created_by=new.created_by, note=new.note,
        idempotency_key=new.idempotency_key, request_digest=new.request_digest, **told.columns(),
    )  # fmt: skip
    if made is None:
        raise AssertionError("an insert returns its row")
    await act(tx, new.id, ActivityKind.CREATED, new.created_by, details=new.details)
    run = await add_run(tx, owner, made, first_run_of(new.mode), new.narrowing)
    if new.mode.uses_lane:
        await supersede(tx, owner, new.id)
        await advance(tx, owner["id"])
    else:
        await start_unlocked(tx, new.id, run["id"])
    return made


async def start_unlocked(tx: Transaction, deployment_id: UUID, run_id: UUID) -> None:
    """Send a run that asks nothing of the lane straight to the runners."""
    await transitions.RUN_PROMOTE.one(tx, run_id)
    await transitions.PROMOTE.one(tx, deployment_id, **Told("lane").columns())


async def add_run(
    tx: Transaction,
    owner: Row,
    deployment: Row,
    mode: RunMode,
    narrowing: Narrowing,
    *,
    plan_run_id: UUID | None = None,
) -> Row:
    """A new run and its stage, which is the active one from now on. The run is queued until the lane starts it.

    It inherits the priority of its deployment.
    """
    run = await tx.fetch_one(
        _RUN,
        id=new_id(), workspace=owner["workspace"], stack_id=owner["id"], deployment_id=deployment["id"],
        mode=mode.value, runner_group=owner["runner_group"], labels=owner["labels"],
        state_locked=DeploymentMode(deployment["mode"]).uses_lane, targets=json.dumps(narrowing.targets),
        excludes=json.dumps(narrowing.excludes), replaces=json.dumps(narrowing.replaces), plan_run_id=plan_run_id,
        prioritized_at=deployment["prioritized_at"],
    )  # fmt: skip
    if run is None:
        raise AssertionError("an insert returns its row")
    await add_stage(tx, deployment["id"], stage_of(mode), run["id"])
    return run


async def add_stage(tx: Transaction, deployment_id: UUID, kind: StageKind, run_id: UUID | None) -> UUID:
    """The next stage of a deployment, active from now on. The one before it must have ended."""
    last = await tx.fetch_one(_ORDINAL, deployment_id=deployment_id)
    stage_id = new_id()
    await tx.fetch(
        _STAGE, id=stage_id, deployment_id=deployment_id, ordinal=(last["last"] if last else 0) + 1, kind=kind.value,
        run_id=run_id,
    )  # fmt: skip
    await transitions.STAGE_START.one(tx, stage_id)
    return stage_id
