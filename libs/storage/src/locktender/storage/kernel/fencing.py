"""A declared transition becomes a guard and an effect. No other code compares a status or an epoch in a write."""

from enum import StrEnum
from typing import Any, TypeVar, assert_never

from sqlalchemy import ColumnElement, Table, and_, func, null, true

from locktender.contracts.kernel.machine import Fence, Machine, Transition, in_order
from locktender.storage.kernel.clock import db_now
from locktender.storage.kernel.statement import constant

S = TypeVar("S", bound=StrEnum)


def in_states(column: ColumnElement[Any], states: frozenset[S]) -> ColumnElement[bool]:
    """Membership with the states written into the text, for the sake of partial indexes."""
    return column.in_([constant(state.value) for state in in_order(states)])


def guard(table: Table, step: Transition[S], epoch: ColumnElement[Any] | None) -> ColumnElement[bool]:
    """The row stands in a source state, and the lease allows the step."""
    in_source = in_states(table.c.status, step.sources)
    match step.fence:
        case Fence.HOLD | Fence.RELEASE:
            if epoch is None:
                raise ValueError(f"{step.name} is fenced and takes an epoch")
            held = table.c.lease_epoch == epoch
        case Fence.NONE | Fence.KEEP | Fence.ACQUIRE | Fence.BREAK:
            held = true()
        case _:
            assert_never(step.fence)
    return and_(in_source, held)


def effect(
    table: Table,
    machine: Machine[S],
    step: Transition[S],
    *,
    owner: ColumnElement[Any] | None = None,
    ttl: ColumnElement[Any] | None = None,
) -> dict[str, object]:
    """The columns that every row of the transition table writes; the caller adds its own."""
    values: dict[str, object] = {}
    if step.event is not None or step.target is not None:
        # A renewal or a hint is nothing that anybody is shown: the row then reads the same as before.
        values["updated_at"] = db_now()
    if step.event is not None:
        values["revision"] = table.c.revision + constant(1)
    if step.target is not None:
        values["status"] = constant(step.target.value)
        values["completed_at"] = db_now() if step.target in machine.terminal else null()
    match step.fence:
        case Fence.NONE | Fence.KEEP | Fence.HOLD:
            pass
        case Fence.ACQUIRE:
            if owner is None or ttl is None:
                raise ValueError(f"{step.name} takes a lease and needs an owner and a time to live")
            values |= {
                "lease_epoch": table.c.lease_epoch + constant(1),
                "lease_owner": owner,
                "lease_claimed_at": db_now(),
                "lease_expires_at": db_now() + ttl,
                "started_at": func.coalesce(table.c.started_at, db_now()),
            }
        case Fence.RELEASE:
            values |= _unleased()
        case Fence.BREAK:
            values |= _unleased() | {"lease_epoch": table.c.lease_epoch + constant(1)}
        case _:
            assert_never(step.fence)
    return values


def _unleased() -> dict[str, object]:
    return {"lease_owner": null(), "lease_expires_at": null()}
