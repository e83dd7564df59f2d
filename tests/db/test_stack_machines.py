"""Every move of the three machines of stacks by every status, and what not even psql can do to a row."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Any
from uuid import UUID

import asyncpg
import pytest

from locktender.contracts.kernel.errors import LeaseLost, WrongState
from locktender.contracts.kernel.machine import Fence, Machine, Transition
from locktender.contracts.stacks.flow import (
    RUN_HINT,
    STACK_DEPLOYMENT,
    STACK_RUN,
    STACK_STAGE,
    DeploymentStatus,
    RunStatus,
    StagePhase,
)
from locktender.storage.kernel.database import Row, Transaction
from locktender.storage.kernel.triggers import FINAL_ROW, ILLEGAL_EDGE
from locktender.storage.stacks import transitions
from locktender.storage.stacks.moves import Move
from locktender.testkit.database import TestDatabase
from locktender.testkit.stacks import new_stack

_EPOCH = 5
_VALUES: dict[str, object] = {
    "message": "it moved", "payload": "{}", "actor": "ada", "trace": "{}", "failure": "{}", "owner": "r/1", "ttl": 60.0,
    "token_hash": b"token", "assignment": 60.0, "assigned_runner_id": None, "remote": False, "summary": None,
    "has_changes": None, "binding": None, "tool": None, "tool_version": None, "exit_code": None,
    "cancellation_reason": None, "skipped_reason": None, "prioritized_by": "ada", "cancel_requested_by": "ada",
}  # fmt: skip
_MOVES = [each for each in vars(transitions).values() if isinstance(each, Move)]
_MACHINES: list[Machine[Any]] = [STACK_RUN, STACK_STAGE, STACK_DEPLOYMENT]


class _Undo(Exception):
    """Takes everything back."""


@dataclass
class _Planted:
    """One row of a machine, in a database with a stack that has one deployment."""

    db: TestDatabase
    machine: Machine[Any]
    key: UUID

    async def plant(self, status: StrEnum) -> None:
        """Put it into a state, past all guards."""
        sets = [f"status = '{status}'", f"completed_at = {'now()' if status in self.machine.terminal else 'null'}"]
        if self.machine is STACK_RUN:
            leased = status in STACK_RUN.leased
            owner, token = ("'r/1'", "'a'::bytea") if leased else ("null", "null")
            until, length = ("now()", "60") if leased else ("null", "null")
            sets += [
                f"lease_epoch = {_EPOCH}", "assigned_expires_at = now()", f"token_hash = {token}",
                f"lease_owner = {owner}", f"lease_expires_at = {until}", f"lease_seconds = {length}",
            ]  # fmt: skip
        if self.machine is STACK_DEPLOYMENT:
            waits = status is DeploymentStatus.WAITING
            sets += [f"waiting_since = {'now()' if waits else 'null'}", "failure = '{}'"]
        async with self.db.unguarded() as superuser:
            await superuser.execute(
                f"update locktender.{self.machine.name} set {', '.join(sets)} where id = $1",  # noqa: S608 - ours
                self.key,
            )

    async def attempt(self, move: Move[Any], **values: object) -> Row:
        """The row after a move that is taken back."""
        seen: list[Row] = []

        async def work(tx: Transaction) -> None:
            await move.one(tx, self.key, **_VALUES, **values)
            seen.append(await self._row(tx))
            raise _Undo

        with pytest.raises(_Undo):
            await self.db.database.transact(work)
        return seen[0]

    async def _row(self, tx: Transaction) -> Row:
        connection = tx._connection
        row = await connection.fetchrow(f"select * from locktender.{self.machine.name} where id = $1", self.key)  # noqa: S608 - ours
        assert row is not None
        return row


async def _planted(db: TestDatabase, machine: Machine[Any]) -> _Planted:
    rig = await new_stack(db)
    deployment = await rig.deploy()
    if machine is STACK_DEPLOYMENT:
        return _Planted(db, machine, deployment)
    key = await db.admin.fetchval(f"select id from locktender.{machine.name} where deployment_id = $1", deployment)  # noqa: S608 - ours
    return _Planted(db, machine, key)


@pytest.mark.parametrize("machine", _MACHINES, ids=lambda machine: machine.name)
@pytest.mark.story(30)
async def test_a_move_moves_exactly_what_the_machine_allows(module_db: TestDatabase, machine: Machine[Any]) -> None:
    planted = await _planted(module_db, machine)
    moves = [move for move in _MOVES if move._table.name == machine.name]
    for status in machine.states:
        await planted.plant(status)
        for move in moves:
            await _check(planted, move, status)


async def _check(planted: _Planted, move: Move[Any], status: StrEnum) -> None:
    step: Transition[Any] = move._step
    prepared = {"epoch": _EPOCH} if step.fence in {Fence.HOLD, Fence.RELEASE} else {}
    if prepared:
        with pytest.raises(LeaseLost):
            await planted.attempt(move, epoch=_EPOCH - 1)
    # Nothing is prioritized here, and only what is can lose its place.
    if status not in step.sources or move is transitions.DEPRIORITIZE:
        with pytest.raises(WrongState):
            await planted.attempt(move, **prepared)
        return
    after = await planted.attempt(move, **prepared)
    target = status if step.target is None else step.target
    assert after["status"] == target
    assert (after["completed_at"] is not None) is (target in planted.machine.terminal)
    if planted.machine is STACK_RUN:
        assert (after["lease_owner"] is not None) is (target in STACK_RUN.leased)
        assert (after["token_hash"] is not None) is (target in STACK_RUN.leased)
        assert after["lease_epoch"] == _EPOCH + (step.fence in {Fence.ACQUIRE, Fence.BREAK})


@pytest.mark.parametrize("machine", _MACHINES, ids=lambda machine: machine.name)
async def test_a_row_takes_only_declared_edges(module_db: TestDatabase, machine: Machine[Any]) -> None:
    planted = await _planted(module_db, machine)
    taking = {(s, t.target) for t in machine.transitions if t.fence is Fence.ACQUIRE for s in t.sources}
    for source in machine.states:
        await planted.plant(source)
        for target in machine.states:
            refusal = await _refusal(planted, target, epochs=(source, target) in taking)
            if source in machine.terminal:
                assert refusal == FINAL_ROW, (source, target)
            elif source is target or (source, target) in machine.edges():
                assert refusal is None, (source, target)
            else:
                assert refusal == ILLEGAL_EDGE, (source, target)


async def _refusal(planted: _Planted, target: StrEnum, *, epochs: bool) -> str | None:
    """The SQLSTATE with which a plain update that satisfies every check is refused. Nothing is kept."""
    machine, admin = planted.machine, planted.db.admin
    sets = f"status = '{target}', completed_at = {'now()' if target in machine.terminal else 'null'}"
    if machine is STACK_RUN:
        leased = target in STACK_RUN.leased
        owner, until, length = ("'me'", "now()", "60") if leased else ("null", "null", "null")
        sets += (
            f", lease_owner = {owner}, lease_expires_at = {until}, lease_seconds = {length}, token_hash = null"
            f", lease_epoch = lease_epoch + {int(epochs)}, assigned_expires_at = now()"
        )
    if machine is STACK_DEPLOYMENT:
        sets += f", waiting_since = {'now()' if target is DeploymentStatus.WAITING else 'null'}, failure = '{{}}'"
    transaction = admin.transaction()
    await transaction.start()
    try:
        await admin.execute(f"update locktender.{machine.name} set {sets} where id = $1", planted.key)  # noqa: S608 - ours
    except asyncpg.PostgresError as error:
        return error.sqlstate
    finally:
        await transaction.rollback()
    return None


def test_every_transition_of_the_three_machines_is_a_move() -> None:
    made = {(move._table.name, move._step.name) for move in _MOVES}
    declared = {(machine.name, step.name) for machine in _MACHINES for step in machine.transitions}
    # A hint moves nothing (test_stack_sweeps).
    assert declared - made == {("stack_run", RUN_HINT.name)}
    assert {RunStatus, StagePhase, DeploymentStatus} == {machine.states for machine in _MACHINES}
