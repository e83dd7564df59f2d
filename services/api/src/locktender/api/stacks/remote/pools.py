"""The use cases of people who look after pools of remote runners."""

import json
from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

import structlog

from locktender.api.http.problems import ProblemError
from locktender.contracts.kernel.errors import Finding, Pointer, Rejected
from locktender.contracts.kernel.problems import Problem
from locktender.contracts.kernel.subjects import DEFAULT_GROUP
from locktender.contracts.stacks.pools import RunnerGroupList, RunnerGroupMade, RunnerGroupView, RunnerView
from locktender.contracts.stacks.requests import RunnerGroupCreate, RunnerGroupUpdate, TokenRotation
from locktender.contracts.stacks.vocabulary import RunFailureReason
from locktender.contracts.stacks.wire import RunFailure
from locktender.runtime.bus import Bus
from locktender.runtime.runs.tokens import new_token, token_digest
from locktender.storage.kernel.database import Database, Row, Transaction
from locktender.storage.stacks import groups
from locktender.storage.stacks.complete import Ended
from locktender.storage.stacks.refusals import GroupInUse, TokenKept
from locktender.storage.stacks.remote import force_delete_runner

_log = structlog.stdlib.get_logger(__name__)

_TAKEN = "23505"
"""The SQLSTATE of a broken uniqueness rule."""


class Pools:
    """Runner groups of a workspace, and their runners."""

    def __init__(self, *, database: Database, bus: Bus) -> None:
        self._database = database
        self._bus = bus

    async def create(self, workspace: str, asked: RunnerGroupCreate, by: str) -> RunnerGroupMade:
        """A new group with its token, which nobody is told again.

        Raises:
            Rejected: the name is the one of Locktender's own runners.
            ProblemError: the name is taken.
        """
        if asked.name == DEFAULT_GROUP:
            message = "`default` are the runners of Locktender itself; choose another name"
            raise Rejected([Finding(Pointer("/name"), message, "reserved-name")])
        token = new_token()

        async def work(tx: Transaction) -> Row:
            return await groups.create_group(
                tx, workspace, asked.name, labels=asked.labels, capacity=asked.capacity,
                token_hash=token_digest(token), actor=by,
            )  # fmt: skip

        try:
            row = await self._database.transact(work)
        except Exception as error:
            if getattr(error, "sqlstate", None) != _TAKEN:
                raise
            raise ProblemError(Problem.NAME_TAKEN, "another runner group of this workspace has the name") from None
        _told("made", row, by)
        return RunnerGroupMade(group=_view(row, ()), token=token.get_secret_value())

    async def list(self, workspace: str) -> RunnerGroupList:
        """All groups, by name."""
        rows = await groups.groups(self._database, workspace)
        return RunnerGroupList(groups=tuple([await self._with_runners(row) for row in rows]))

    async def show(self, workspace: str, name: str) -> RunnerGroupView:
        """One group with its runners. Raises `NotFound` where there is none."""
        return await self._with_runners(await groups.group(self._database, workspace, name))

    async def update(self, workspace: str, name: str, asked: RunnerGroupUpdate, by: str) -> RunnerGroupView:
        """A group with what was given in place of what it had. Raises `NotFound` where there is none."""

        async def work(tx: Transaction) -> Row:
            return await groups.update_group(tx, workspace, name, labels=asked.labels, capacity=asked.capacity)

        row = await self._database.transact(work)
        _told("changed", row, by)
        return await self._with_runners(row)

    async def rotate_token(self, workspace: str, name: str, asked: TokenRotation, by: str) -> RunnerGroupMade:
        """A group with a new token, which nobody is told again.

        Raises:
            NotFound: there is none.
            ProblemError: an old token is still valid, and another one was to be kept.
        """
        token = new_token()

        async def work(tx: Transaction) -> Row:
            return await groups.rotate_token(
                tx, workspace, name, token_hash=token_digest(token), keep_seconds=asked.keep_old_seconds,
                again=asked.again,
            )  # fmt: skip

        try:
            row = await self._database.transact(work)
        except TokenKept as error:
            raise ProblemError(Problem.TOKEN_KEPT, f"{error} Wait for that, or keep no old token.") from error
        _told("given another token", row, by, keep_old_seconds=asked.keep_old_seconds, again=asked.again)
        return RunnerGroupMade(group=await self._with_runners(row), token=token.get_secret_value())

    async def delete(self, workspace: str, name: str, by: str) -> None:
        """Remove a group; its token is void at once.

        Raises:
            NotFound: there is none.
            ProblemError: a stack or a runner at work needs it.
        """

        async def work(tx: Transaction) -> Row:
            return await groups.delete_group(tx, workspace, name)

        try:
            row = await self._database.transact(work)
        except GroupInUse as error:
            raise ProblemError(Problem.GROUP_IN_USE, str(error)) from error
        _told("deleted", row, by)

    async def delete_runner(
        self, workspace: str, name: str, runner_id: UUID, by: str, trace: Mapping[str, str]
    ) -> RunnerGroupView:
        """Remove a runner at once. A run that it had taken over ends as lost, with what that means.

        Raises:
            NotFound: there is no such group, or it has no such runner.
        """
        group = await groups.group(self._database, workspace, name)

        async def work(tx: Transaction) -> Ended | None:
            return await force_delete_runner(tx, group, runner_id, by, trace)

        if await self._database.transact(work) is not None:
            self._bus.poke("outbox")
        return await self._with_runners(group)

    async def _with_runners(self, row: Row) -> RunnerGroupView:
        return _view(row, await groups.runners(self._database, row["id"]))


def _told(what: str, row: Row, by: str, **facts: object) -> None:
    """Who did what to a group, for the log."""
    facts |= {"group": row["name"], "workspace": row["workspace"], "actor": by}
    _log.info(f"a runner group was {what}", **facts)


def _view(row: Row, runners: Sequence[Row]) -> RunnerGroupView:
    error = row["last_dispatch_error"]
    return RunnerGroupView(
        id=row["id"],
        name=row["name"],
        labels=tuple(json.loads(row["labels"])),
        capacity=row["capacity"],
        runners=tuple(_runner(each) for each in runners),
        last_dispatch_error=None if error is None else _failure(json.loads(error)),
        old_token_until=row["old_token_until"],
        created_by=row["created_by"],
        created_at=row["created_at"],
        updated_at=row["updated_at"],
    )


def _runner(row: Row) -> RunnerView:
    names = ("id", "name", "status", "run_id", "last_seen_at", "created_at")
    return RunnerView(**{name: row[name] for name in names})


def _failure(stored: Mapping[str, Any]) -> RunFailure:
    return RunFailure(reason=RunFailureReason.DISPATCH_FAILED, message=str(stored["message"]))
