"""The use cases of the values that runs of a stack are given."""

from uuid import UUID

from locktender.api.stacks.catalogue.commands import By
from locktender.api.stacks.runs.variables import place_of
from locktender.api.stacks.variables.naming import check, rivals_of, sensitive
from locktender.contracts.kernel.errors import Finding, NotFound, Pointer, Rejected
from locktender.contracts.stacks.requests import VariableSet
from locktender.contracts.stacks.views import VariableKind, VariableList, VariableView
from locktender.integrations.objects.cipher import Cipher
from locktender.runtime.bus import Bus
from locktender.storage.kernel.database import Database, Row, Transaction
from locktender.storage.stacks.reads import StackReads
from locktender.storage.stacks.stacks import find_stack
from locktender.storage.stacks.variables import (
    RivalVariable,
    TooManyVariables,
    Value,
    list_variables,
    remove_variable,
    set_variable,
)

_UNSIGNED = "nothing signs identity tokens here: give the API LOCKTENDER_IDENTITY__KEYS and LOCKTENDER_PUBLIC_URL"


class VariableCommands:
    """Sets, removes and lists. A sensitive value is sealed before it comes near the database, and never opened here.

    `signs` says whether runs can be given identity tokens.
    """

    def __init__(self, *, database: Database, cipher: Cipher, bus: Bus, signs: bool) -> None:
        self._database = database
        self._reads = StackReads(database)
        self._cipher = cipher
        self._bus = bus
        self._signs = signs

    async def list(self, workspace: str, stack: str) -> VariableList:
        """All of a stack.

        Raises:
            NotFound: the workspace has no such stack.
        """
        stack_id = await self._reads.stack_id(workspace, stack)
        if stack_id is None:
            raise NotFound("stack", stack)
        return VariableList(variables=tuple(_view(row) for row in await list_variables(self._database, stack_id)))

    async def set(self, by: By, stack: str, kind: VariableKind, name: str, asked: VariableSet) -> VariableView:
        """A variable with a value, whether it had one before or not.

        Raises:
            NotFound: the workspace has no such stack.
            Rejected: the name is ours or is taken by another kind, the value is none for this kind, nothing signs
                tokens here, or the stack has no room for another variable.
        """
        check(kind, name, asked)
        if kind.signed and not self._signs:
            raise Rejected([Finding(Pointer(""), _UNSIGNED, "no-identity-keys")])
        text = asked.value.get_secret_value()

        async def work(tx: Transaction) -> Row:
            stack_id = await _found(tx, by.workspace, stack)
            value = Value(plain=text)
            if sensitive(kind, name, asked):
                value = Value(sealed=self._cipher.seal(place_of(stack_id, kind, name), text.encode()))
            return await set_variable(
                tx, stack_id, kind.value, name, value, by=by.name, trace=by.trace, rivals=rivals_of(kind, name)
            )

        try:
            row = await self._database.transact(work)
        except TooManyVariables as error:
            raise Rejected([Finding(Pointer(""), f"{error}; remove one first", "too-many-variables")]) from None
        except RivalVariable as error:
            message = f"{error}, and runs are given one of the two; unset that one first"
            raise Rejected([Finding(Pointer(""), message, "name-taken")]) from None
        self._bus.poke("outbox")
        return _view(row)

    async def remove(self, by: By, stack: str, kind: VariableKind, name: str) -> VariableList:
        """What is left without it.

        Raises:
            NotFound: the workspace has no such stack, or it no such variable.
        """

        async def work(tx: Transaction) -> None:
            stack_id = await _found(tx, by.workspace, stack)
            await remove_variable(tx, stack_id, kind.value, name, trace=by.trace)

        await self._database.transact(work)
        self._bus.poke("outbox")
        return await self.list(by.workspace, stack)


async def _found(tx: Transaction, workspace: str, stack: str) -> UUID:
    stack_id = await find_stack(tx, workspace, stack)
    if stack_id is None:
        raise NotFound("stack", stack)
    return stack_id


def _view(row: Row) -> VariableView:
    names = ("kind", "name", "sensitive", "value", "updated_by", "updated_at")
    return VariableView(**{name: row[name] for name in names})
