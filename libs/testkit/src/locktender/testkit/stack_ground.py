"""Three stacks, and everything that may happen to them at the storage seam, checked against `stack_truth`."""

import asyncio
import hashlib
import secrets
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import TypeVar
from uuid import UUID

from locktender.contracts.kernel.errors import LeaseLost, LocktenderError
from locktender.contracts.kernel.lease import Owner
from locktender.contracts.stacks.flow import STACK_RUN
from locktender.contracts.stacks.patience import StackDeadlines
from locktender.contracts.stacks.vocabulary import DeploymentMode
from locktender.contracts.stacks.wire import Done
from locktender.storage.kernel.database import Row, Transaction
from locktender.storage.stacks.assign import AcceptedRun, take
from locktender.storage.stacks.complete import report
from locktender.storage.stacks.groups import create_group
from locktender.storage.stacks.reconcile import reconcilers
from locktender.storage.stacks.remote import Offered, accept_remote, poll
from locktender.storage.stacks.sweeps import row_sweeps
from locktender.testkit.database import TestDatabase
from locktender.testkit.stack_truth import Lane, assert_order_kept, broken_rules, lanes
from locktender.testkit.stacks import StackRig, new_stack

T = TypeVar("T")

_TTL, _PROMISE, _CAP = 60.0, 40.0, 3
_DEADLINES = StackDeadlines(assignment=_PROMISE, max_assignment_attempts=_CAP, startup=2000.0, execution=_TTL)
_PENDING = "select id from locktender.stack_run where status = 'pending' order by created_at, id"
_COUNTERS = "select id, assignment_attempts, lease_epoch, started_at from locktender.stack_run"
_MODE = "select mode, stack_id from locktender.stack_deployment where id = $1"


@dataclass(frozen=True, slots=True)
class Promise:
    """A run that was promised to a remote runner, and the secret by which it takes it over."""

    offered: Offered
    secret: bytes


class StackGround:
    """Three stacks that differ in who approves, and what was seen of them; `begun` makes one."""

    def __init__(self, db: TestDatabase, group: Row, rigs: list[StackRig]) -> None:
        self.db, self.group, self.rigs = db, group, rigs
        self.taken: list[AcceptedRun] = []
        """Every lease that anybody ever held, the latest last."""
        self.promises: list[Promise] = []
        self._counters: dict[UUID, tuple[int, int]] = {}
        self._accepted: set[UUID] = set()
        self._lanes: dict[UUID, Lane] = {}

    @classmethod
    async def begun(cls, db: TestDatabase) -> "StackGround":
        """An empty database with the stacks, and somebody who waits for each of them."""
        await db.admin.execute("truncate locktender.stack, locktender.stack_runner_group, locktender.outbox cascade")
        name = f"far-{secrets.token_hex(4)}"
        group = await db.database.transact(
            lambda tx: create_group(tx, "acme", name, labels=[], capacity=2, token_hash=name.encode(), actor="ada")
        )
        policy = {"confirmation_timeout_seconds": 300, "queued_timeout_seconds": 900, "supersede_after_seconds": 60}
        rigs = [
            await new_stack(db, auto_approve="manual", **policy),
            await new_stack(db, auto_approve="auto", runner_group=name),
            await new_stack(db, auto_approve="non_destructive"),
        ]
        for rig in rigs:
            for mode in (DeploymentMode.PLAN, DeploymentMode.PLAN, DeploymentMode.REFRESH):
                await rig.deploy(mode)
        ground = cls(db, group, rigs)
        ground._lanes = await lanes(db.admin)
        return ground

    async def transact(self, work: Callable[[Transaction], Awaitable[T]]) -> T:
        """In one transaction."""
        return await self.db.database.transact(work)

    async def command(self, pick: int, among: str, work: Callable[[Transaction, UUID], Awaitable[object]]) -> None:
        """Do something to one of the deployments that `among` lists; it may be refused."""
        key = await self._picked(pick, among)
        if key is not None:
            row = await self.db.admin.fetchrow(_MODE, key)
            assert row is not None
            looks = row["mode"] == DeploymentMode.PLAN_UNLOCKED
            with suppress(LocktenderError):
                await self.beside_the_lane(looks, row["stack_id"], self.transact(lambda tx: work(tx, key)))

    async def beside_the_lane(self, looks: bool, stack_id: UUID, work: Awaitable[object]) -> None:  # noqa: FBT001 - asked
        """Await `work`. Where it is about something that only looks, it must leave the lane as it was."""
        before = (await lanes(self.db.admin))[stack_id] if looks else None
        try:
            await work
        finally:
            if before is not None:
                assert (await lanes(self.db.admin))[stack_id] == before, "what only looks changed the lane"

    async def race(self, pick: int) -> None:
        """Two runners of ours take one run at the same moment."""
        key = await self._picked(pick, _PENDING)
        if key is None:
            return
        async with asyncio.TaskGroup() as group:
            racers = [
                group.create_task(
                    take(self.db.database, key, owner=Owner(f"r/{n}"), ttl=_TTL, token_hash=secrets.token_bytes(8))
                )
                for n in range(2)
            ]
        won = [each for each in (racer.result() for racer in racers) if each is not None]
        assert len(won) == 1, "a pending run has exactly one winner"
        self._took(won[0])

    async def poll(self) -> None:
        """A remote runner is promised a run."""
        secret = secrets.token_bytes(8)

        async def work(tx: Transaction) -> Offered | None:
            return await poll(
                tx, self.group, name="box", labels=(), assignment_hash=secret, assignment_seconds=_PROMISE
            )

        offered = await self.transact(work)
        if offered is not None:
            self.promises.append(Promise(offered, secret))

    async def accept(self, promise: Promise) -> None:
        """A remote runner takes over what it was promised, if that still is so."""
        run, token = promise.offered.run["id"], hashlib.sha256(promise.secret).digest()

        async def work(tx: Transaction) -> AcceptedRun:
            return await accept_remote(
                tx, run, promise.offered.runner["id"], assignment_hash=promise.secret, token_hash=token, ttl=_TTL,
                trace={},
            )  # fmt: skip

        with suppress(LocktenderError):
            self._took(await self.transact(work))

    async def report(self, taken: AcceptedRun, done: Done) -> None:
        """A runner says how it went; only who holds the epoch is heard."""
        key = taken.lease.row_id
        run = await self.db.admin.fetchrow("select * from locktender.stack_run where id = $1", key)
        assert run is not None
        held = run["lease_epoch"] == taken.lease.epoch and run["status"] in STACK_RUN.leased
        looks = not run["state_locked"]
        try:
            await self.beside_the_lane(
                looks, run["stack_id"], self.transact(lambda tx: report(tx, key, taken.lease.epoch, done, {}))
            )
        except LeaseLost:
            assert not held, "who holds the epoch may report"
        else:
            assert held, "a stale epoch ended a run"

    async def sweep(self) -> None:
        """What the reaper does about time."""
        for sweep in row_sweeps(_DEADLINES):
            await sweep.run(self.db.database, 100, failed=_unexpected)

    async def agree(self) -> None:
        """The reconcilers must find nothing."""
        for sweep in reconcilers():
            found = await sweep.run(self.db.database, 100, failed=_unexpected)
            assert found == [], f"{sweep.name} found {found}"

    async def check(self) -> None:
        """Fail unless every rule holds, and since the last look no counter went back and no place was jumped."""
        found = await broken_rules(self.db.admin)
        assert found == [], found
        now = await lanes(self.db.admin)
        await assert_order_kept(self.db.admin, self._lanes, now)
        self._lanes = now
        for row in await self.db.admin.fetch(_COUNTERS):
            attempts, epoch = row["assignment_attempts"], row["lease_epoch"]
            former = self._counters.get(row["id"], (0, 0))
            assert former[0] <= attempts <= _CAP, "attempts went back, or beyond their cap"
            assert former[1] <= epoch, "an epoch went back"
            assert (row["started_at"] is not None) == (row["id"] in self._accepted), "accepted and started are one"
            self._counters[row["id"]] = attempts, epoch

    async def _picked(self, pick: int, among: str) -> UUID | None:
        rows = await self.db.admin.fetch(among)
        return rows[pick % len(rows)]["id"] if rows else None

    def _took(self, taken: AcceptedRun | None) -> None:
        if taken is None or taken.lease in [each.lease for each in self.taken]:
            return
        assert taken.lease.row_id not in self._accepted, "a run was accepted twice"
        self._accepted.add(taken.lease.row_id)
        self.taken.append(taken)


def _unexpected(row: UUID, error: Exception) -> None:
    raise AssertionError(row) from error
