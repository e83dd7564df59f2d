"""The values that runs of a stack are given: set and removed, each time told as a change of the stack."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Final
from uuid import UUID

from sqlalchemy import ARRAY, LargeBinary, Text, Uuid, delete, func, select
from sqlalchemy.dialects.postgresql import insert

from locktender.contracts.kernel.errors import LocktenderError, NotFound
from locktender.storage.kernel.clock import db_now
from locktender.storage.kernel.database import Database, Row, Transaction
from locktender.storage.kernel.statement import Statement, parameter
from locktender.storage.stacks.lane import locked
from locktender.storage.stacks.stacks import touch_stack
from locktender.storage.stacks.tables import stack_variable

MOST_VARIABLES = 500
"""Of one stack."""

_v = stack_variable.c
_stack_id: Final = parameter("stack_id", Uuid())
_SHOWN: Final = (_v.kind, _v.name, _v.value, _v.sealed.is_not(None).label("sensitive"), _v.updated_by, _v.updated_at)

_SET_VALUES: Final = {
    "value": parameter("value", Text()),
    "sealed": parameter("sealed", LargeBinary()),
    "updated_by": parameter("updated_by", Text()),
    "updated_at": db_now(),
}
_key: Final = (
    _v.stack_id == _stack_id,
    _v.kind == parameter("kind", Text()),
    _v.name == parameter("name", Text()),
)
_SET = Statement(
    "stack_variable.set",
    insert(stack_variable)
    .values(stack_id=_stack_id, kind=parameter("kind", Text()), name=parameter("name", Text()), **_SET_VALUES)
    .on_conflict_do_update(index_elements=[_v.stack_id, _v.kind, _v.name], set_=_SET_VALUES)
    .returning(*_SHOWN),
)
_REMOVE = Statement("stack_variable.remove", delete(stack_variable).where(*_key).returning(_v.name))
_COUNT = Statement("stack_variable.count", select(func.count().label("number")).where(_v.stack_id == _stack_id))
_RIVAL = Statement(
    "stack_variable.rival",
    select(_v.kind, _v.name)
    .where(_v.stack_id == _stack_id, _v.kind + "/" + _v.name == func.any(parameter("rivals", ARRAY(Text()))))
    .limit(1),
)
_LIST = Statement(
    "stack_variable.list",
    select(*_SHOWN).where(_v.stack_id == _stack_id).order_by(_v.kind, _v.name).limit(MOST_VARIABLES),
)


class TooManyVariables(LocktenderError):
    """The stack has as many as one can have."""

    def __init__(self) -> None:
        super().__init__(f"a stack can have {MOST_VARIABLES} variables")


class RivalVariable(LocktenderError):
    """A variable of another kind would be given to runs in the same place."""

    def __init__(self, kind: str, name: str) -> None:
        super().__init__(f"{name} is there as another kind, `{kind}`")
        self.kind = kind
        self.name = name


@dataclass(frozen=True, slots=True)
class Value:
    """A value: plain or sealed, exactly one of the two."""

    plain: str | None = field(default=None, repr=False)
    sealed: bytes | None = field(default=None, repr=False)


async def set_variable(
    tx: Transaction,
    stack_id: UUID,
    kind: str,
    name: str,
    value: Value,
    *,
    by: str,
    trace: Mapping[str, str],
    rivals: Collection[tuple[str, str]] = (),
) -> Row:
    """Give a variable a value, whether it had one or not. Runs that were begun keep the old one.

    `rivals` are the variables, by kind and name, that must not be there beside this one.

    Raises:
        NotFound: there is no such stack.
        RivalVariable: there is a rival.
        TooManyVariables: there is no room for another one.
    """
    await locked(tx, stack_id)
    rival = await tx.fetch_one(_RIVAL, stack_id=stack_id, rivals=["/".join(each) for each in rivals])
    if rival is not None:
        raise RivalVariable(rival["kind"], rival["name"])
    row = await tx.fetch_one(
        _SET, stack_id=stack_id, kind=kind, name=name, value=value.plain, sealed=value.sealed, updated_by=by
    )
    counted = await tx.fetch_one(_COUNT, stack_id=stack_id)
    if row is None or counted is None:
        raise AssertionError("an upsert returns its row, and a count is one")
    if counted["number"] > MOST_VARIABLES:
        raise TooManyVariables
    await touch_stack(tx, stack_id, trace)
    return row


async def remove_variable(tx: Transaction, stack_id: UUID, kind: str, name: str, *, trace: Mapping[str, str]) -> None:
    """Forget a variable.

    Raises:
        NotFound: there is no such stack, or it has no such variable.
    """
    await locked(tx, stack_id)
    if await tx.fetch_one(_REMOVE, stack_id=stack_id, kind=kind, name=name) is None:
        raise NotFound("variable", name)
    await touch_stack(tx, stack_id, trace)


async def list_variables(database: Database, stack_id: UUID) -> list[Row]:
    """All of a stack, by kind and name. A sealed value is not read: `sensitive` says that there is one."""
    return await database.fetch(_LIST, stack_id=stack_id)
