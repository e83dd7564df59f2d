"""The other two thirds of a guarded write: the event row and the outbox rows, made from the rows that moved."""

from collections.abc import Mapping
from dataclasses import dataclass
from string import Formatter
from typing import Any, TypeAlias

from sqlalchemy import CTE, ColumnElement, FromClause, Select, Table, Text, cast, func, insert, select
from sqlalchemy.dialects.postgresql import JSONB

from locktender.contracts.kernel.subjects import EVENT_SUBJECT
from locktender.storage.kernel.clock import db_now
from locktender.storage.kernel.statement import constant
from locktender.storage.kernel.tables import SHARDS, outbox

OutboxRow: TypeAlias = Select[*tuple[Any, ...]]
"""A select with exactly the columns that an outbox insert takes."""


@dataclass(frozen=True, slots=True)
class Aggregate:
    """A table of a machine and where the record of its changes goes.

    `facts` names the columns that every event tells, besides id, workspace, status, epoch (where rows are leased) and
    revision. `subject` is the column of `events` that names the row.
    """

    name: str
    context: str
    table: Table
    events: Table
    facts: tuple[str, ...] = ()
    subject: str = "task_id"

    @property
    def told(self) -> tuple[str, ...]:
        """The columns of a row that go out with every event of it."""
        epoch = ("lease_epoch",) if "lease_epoch" in self.table.c else ()
        return ("id", "workspace", *self.facts, "status", *epoch, "revision")


def event_rows(aggregate: Aggregate, moved: FromClause, kind: str, actor: ColumnElement[Any]) -> CTE:
    """One event row for each moved row. `moved` has the columns message and payload."""
    values: dict[str, ColumnElement[Any]] = {
        aggregate.subject: moved.c.id,
        "revision": moved.c.revision,
        "kind": constant(kind),
        "status": moved.c.status,
    }
    if "lease_epoch" in aggregate.told:
        values["epoch"] = moved.c.lease_epoch
    values |= {"actor": actor, "message": moved.c.message, "payload": moved.c.payload}
    return insert(aggregate.events).from_select(list(values), select(*values.values())).cte("recorded")


def outbox_events(aggregate: Aggregate, moved: FromClause, kind: str, *, tombstone: bool = False) -> OutboxRow:
    """The outbox row that tells the world, for each moved row: facts only, the content stays here."""
    facts: list[ColumnElement[Any]] = [
        part for name in aggregate.told for part in (constant(_camel(name)), moved.c[name])
    ]
    facts += [constant("reason"), moved.c.payload.op("->>")(constant("reason"))]
    facts += [constant("at"), db_now()]
    pieces: dict[str, ColumnElement[Any] | str] = {
        "workspace": moved.c.workspace,
        "context": aggregate.context,
        "aggregate": moved.c.id,
        "kind": kind,
    }
    return _outbox_row(
        aggregate_key=cast(moved.c.id, Text),
        revision=moved.c.revision,
        tombstone=tombstone,
        subject=_subject(EVENT_SUBJECT, pieces),
        type_=constant(f"locktender.{aggregate.name}.{kind}"),
        data=func.jsonb_strip_nulls(func.jsonb_build_object(*facts)),
        headers=moved.c.trace,
    )


def outbox_commands(moved: FromClause, subject: ColumnElement[Any], kind: str) -> OutboxRow:
    """A hint that the row is claimable. It has no revision: losing it costs one sweep, nothing else."""
    return _outbox_row(
        aggregate_key=func.concat(constant("hint/"), moved.c.id),
        revision=None,
        tombstone=False,
        subject=subject,
        type_=constant(f"locktender.command.{kind}"),
        data=func.jsonb_build_object(constant("id"), moved.c.id),
        headers=cast(constant("{}"), JSONB),
    )


def outbox_rows(*rows: OutboxRow) -> CTE:
    """The insert of all of them. An event goes before its command, so the two keep their order in `seq`."""
    first, *rest = rows
    source = first.union_all(*rest) if rest else first
    return insert(outbox).from_select(_COLUMNS, source, include_defaults=False).cte("told")


_COLUMNS = ["aggregate", "shard", "revision", "tombstone", "subject", "type", "data", "headers"]


def _outbox_row(
    *,
    aggregate_key: ColumnElement[Any],
    revision: ColumnElement[Any] | None,
    tombstone: bool,
    subject: ColumnElement[Any],
    type_: ColumnElement[Any],
    data: ColumnElement[Any],
    headers: ColumnElement[Any],
) -> OutboxRow:
    return select(
        aggregate_key,
        func.abs(func.mod(func.hashtext(aggregate_key), constant(SHARDS))),
        cast(None, outbox.c.revision.type) if revision is None else revision,
        cast(constant(str(tombstone).lower()), outbox.c.tombstone.type),
        subject,
        type_,
        cast(data, JSONB),
        headers,
    )


def _subject(template: str, pieces: Mapping[str, ColumnElement[Any] | str]) -> ColumnElement[Any]:
    fixed: list[str] = []
    parts: list[ColumnElement[Any]] = []
    for text, name, _, _ in Formatter().parse(template):
        fixed.append(text)
        if name is not None and isinstance(pieces[name], str):
            fixed.append(str(pieces[name]))
        elif name is not None:
            parts += [constant("".join(fixed)), cast(pieces[name], Text)]
            fixed.clear()
    return func.concat(*parts, constant("".join(fixed)))


def _camel(name: str) -> str:
    head, *rest = {"lease_epoch": "epoch"}.get(name, name).split("_")
    return head + "".join(word.title() for word in rest)
