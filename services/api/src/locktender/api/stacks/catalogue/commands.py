"""The use cases that make, change and delete stacks."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from locktender.api.http.problems import ProblemError
from locktender.api.stacks.catalogue.sources import check_source
from locktender.api.stacks.catalogue.views import stack_view
from locktender.contracts.kernel.errors import NotFound
from locktender.contracts.kernel.ids import new_id
from locktender.contracts.kernel.problems import Problem
from locktender.contracts.stacks.requests import StackCreate, StackUpdate
from locktender.contracts.stacks.views import StackDeleted, StackView
from locktender.contracts.stacks.vocabulary import AutoApproveMode
from locktender.integrations.objects.cipher import Cipher
from locktender.runtime.bus import Bus
from locktender.storage.kernel.database import Database, Row, Transaction
from locktender.storage.stacks.reads import StackReads
from locktender.storage.stacks.stacks import (
    NameTaken,
    NewStack,
    StackBusy,
    create_stack,
    delete_stack,
    find_stack,
    update_stack,
)

_PLAIN = ("project", "description", "runner_group")


@dataclass(frozen=True, slots=True)
class By:
    """Who asks, for which workspace, as part of which trace."""

    workspace: str
    name: str
    trace: Mapping[str, str]


class StackCommands:
    """Writes stacks. Tokens are sealed before they come near the database."""

    def __init__(self, *, database: Database, cipher: Cipher, bus: Bus, schemes: Collection[str]) -> None:
        self._database = database
        self._reads = StackReads(database)
        self._cipher = cipher
        self._bus = bus
        self._schemes = frozenset(schemes)

    async def create(self, by: By, asked: StackCreate) -> StackView:
        """A new stack.

        Raises:
            ProblemError: the source cannot be used, or the name is taken (the stack that has it comes along).
        """
        check_source(asked.source, self._schemes)
        stack_id = new_id()
        token = None if asked.git_token is None else self._sealed(stack_id, asked.git_token.get_secret_value())
        new = NewStack(
            id=stack_id, workspace=by.workspace, project=asked.project, name=asked.name,
            description=asked.description, source=asked.source.model_dump(mode="json", by_alias=True),
            engine=asked.engine, runner_group=asked.runner_group, labels=asked.labels,
            auto_approve=asked.auto_approve, created_by=by.name, git_token=token, **asked.policy.model_dump(),
        )  # fmt: skip
        try:
            await self._database.transact(lambda tx: create_stack(tx, new, by.trace))
        except NameTaken:
            raise await self._conflict(Problem.NAME_TAKEN, by.workspace, asked.name, _TAKEN) from None
        self._bus.poke("outbox")
        return await self._by_id(by.workspace, stack_id)

    async def update(self, by: By, name: str, asked: StackUpdate) -> StackView:
        """A stack with what was given in place of what it had.

        Raises:
            NotFound: the workspace has no such stack.
            ProblemError: the source cannot be used.
        """
        if asked.source is not None:
            check_source(asked.source, self._schemes)

        async def work(tx: Transaction) -> Row:
            stack_id = await self._found(tx, by.workspace, name)
            return await update_stack(tx, stack_id, self._changes(stack_id, asked), by.trace)

        row = await self._database.transact(work)
        self._bus.poke("outbox")
        return await self._by_id(by.workspace, row["id"])

    async def delete(self, by: By, name: str) -> StackDeleted:
        """Forget a stack. What it has made in the world stays.

        Raises:
            NotFound: the workspace has no such stack.
            ProblemError: a deployment of it has not ended (the stack comes along).
        """

        async def work(tx: Transaction) -> Row:
            return await delete_stack(tx, await self._found(tx, by.workspace, name), by.trace)

        try:
            row = await self._database.transact(work)
        except StackBusy as error:
            raise await self._conflict(
                Problem.STACK_BUSY, by.workspace, name, f"{error}; skip or cancel it first"
            ) from None
        self._bus.poke("outbox")
        return StackDeleted(
            id=row["id"], workspace=row["workspace"], name=row["name"], revision=row["revision"],
            deleted_at=row["deleted_at"],
        )  # fmt: skip

    def _changes(self, stack_id: UUID, asked: StackUpdate) -> dict[str, object]:
        given: dict[str, Any] = {name: getattr(asked, name) for name in asked.model_fields_set}
        changes: dict[str, object] = {name: given[name] for name in _PLAIN if given.get(name) is not None}
        if asked.engine is not None:
            changes["engine"] = asked.engine.value
        if asked.auto_approve is not None:
            changes["auto_approve"] = asked.auto_approve.value
        if asked.labels is not None:
            changes["labels"] = list(asked.labels)
        if asked.source is not None:
            changes["source"] = asked.source.model_dump(mode="json", by_alias=True)
        if asked.policy is not None:
            changes |= asked.policy.model_dump()
        if "git_token" in given:
            token = asked.git_token
            changes["git_token"] = None if token is None else self._sealed(stack_id, token.get_secret_value())
        return changes

    def _sealed(self, stack_id: UUID, token: str) -> bytes:
        return self._cipher.seal(f"git-token/{stack_id}", token.encode())

    async def _by_id(self, workspace: str, stack_id: UUID) -> StackView:
        row = await self._reads.stack_by_id(workspace, stack_id)
        if row is None:
            raise NotFound("stack", stack_id)
        return stack_view(row)

    async def _conflict(self, problem: Problem, workspace: str, name: str, detail: str) -> ProblemError:
        row = await self._reads.stack(workspace, name)
        shown = None if row is None else stack_view(row).model_dump_json(by_alias=True).encode()
        return ProblemError(problem, detail, snapshot=shown)

    @staticmethod
    async def _found(tx: Transaction, workspace: str, name: str) -> UUID:
        stack_id = await find_stack(tx, workspace, name)
        if stack_id is None:
            raise NotFound("stack", name)
        return stack_id


_TAKEN = "another stack of this workspace has this name; choose another one"


def approves_by_itself(mode: AutoApproveMode | None) -> bool:
    """Whether somebody asks that plans are applied without a person."""
    return mode is not None and mode is not AutoApproveMode.MANUAL
