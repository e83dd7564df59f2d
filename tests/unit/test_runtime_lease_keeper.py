import asyncio
import threading
import time
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager

import pytest

from locktender.contracts.kernel.errors import Unavailable
from locktender.contracts.kernel.ids import new_id
from locktender.contracts.kernel.lease import Epoch, Lease, Owner
from locktender.runtime.abort import Abort, AbortReason
from locktender.runtime.lease_keeper import LeaseKeeper
from locktender.runtime.renewals import RenewalAnswer, Renewals
from locktender.testkit.nats_rig import eventually

TTL = 60.0


def lease(epoch: int = 1) -> Lease:
    return Lease(new_id(), Owner("runner-1/abc"), Epoch(epoch))


def says(lease: Lease, *, held: bool = True, cancel: bool = False) -> RenewalAnswer:
    return RenewalAnswer(lease.row_id, lease.epoch, held, cancel)


class Database:
    """Answers renewals on the keeper's thread, as told."""

    def __init__(self) -> None:
        self.calls: list[list[Lease]] = []
        self.opened = 0
        self.lost: set[Lease] = set()
        self.cancels: set[Lease] = set()
        self.fails = 0
        self.hangs = False
        self.thread = ""

    @asynccontextmanager
    async def open(self) -> AsyncGenerator["Database"]:
        self.opened += 1
        yield self

    async def renew(self, leases: Sequence[Lease], ttl: float) -> Sequence[RenewalAnswer]:
        assert ttl > 0
        self.thread = threading.current_thread().name
        if self.hangs:
            await asyncio.Event().wait()
        if self.fails:
            self.fails -= 1
            raise ConnectionResetError
        self.calls.append(list(leases))
        return [says(each, held=each not in self.lost, cancel=each in self.cancels) for each in leases]


async def test_a_lease_without_an_answer_is_given_up_at_seven_tenths_of_its_life() -> None:
    renewals, abort, held = Renewals(TTL), Abort(), lease()
    renewals.add(held, abort, since=100)
    assert renewals.next_fence() == pytest.approx(142)
    assert renewals.fence(141.9) == []
    assert renewals.fence(142) == [held]
    assert await abort.wait() is AbortReason.SUPERSEDED


async def test_an_answer_counts_from_the_start_of_its_call() -> None:
    renewals, held = Renewals(TTL), lease()
    renewals.add(held, Abort(), since=100)
    renewals.answered([says(held)], asked_at=120)
    assert renewals.next_fence() == pytest.approx(162)


async def test_a_fenced_lease_is_never_renewed_again_even_if_an_answer_comes_late() -> None:
    fenced: list[Lease] = []
    renewals, abort, held = Renewals(TTL, fenced.append), Abort(), lease()
    renewals.add(held, abort, since=0)
    renewals.fence(TTL)
    renewals.answered([says(held)], asked_at=TTL)
    assert renewals.due() == []
    assert fenced == [held]


async def test_a_newer_epoch_of_the_same_row_is_another_lease() -> None:
    renewals, old, new = Renewals(TTL), lease(1), None
    new = Lease(old.row_id, old.owner, Epoch(2))
    old_abort, new_abort = Abort(), Abort()
    renewals.add(old, old_abort, since=0)
    renewals.add(new, new_abort, since=0)
    renewals.answered([says(old, held=False), says(new)], asked_at=1)
    assert await old_abort.wait() is AbortReason.SUPERSEDED
    assert not new_abort.tripped
    renewals.remove(old)
    assert renewals.due() == [new]


async def test_all_leases_are_renewed_in_one_call_on_a_thread_of_its_own() -> None:
    database = Database()
    with LeaseKeeper(database.open, ttl=5, renew_every=0.02) as keeper:
        first, second = lease(), lease()
        with keeper.keep(first, Abort()), keeper.keep(second, Abort()):
            await eventually(lambda: any(set(call) == {first, second} for call in database.calls))
    assert database.thread == "lease-keeper"


async def test_renewing_goes_on_while_the_main_loop_is_blocked() -> None:
    database = Database()
    with LeaseKeeper(database.open, ttl=2, renew_every=0.02) as keeper, keeper.keep(lease(), Abort()):
        before = len(database.calls)
        time.sleep(0.3)  # noqa: ASYNC251 - the main loop is blocked on purpose
        assert len(database.calls) > before + 2


async def test_a_lost_lease_and_a_cancel_request_reach_their_runs() -> None:
    database, lost, cancelled = Database(), lease(), lease()
    database.lost.add(lost)
    database.cancels.add(cancelled)
    lost_abort, cancel_abort = Abort(), Abort()
    with (
        LeaseKeeper(database.open, ttl=5, renew_every=0.02) as keeper,
        keeper.keep(lost, lost_abort),
        keeper.keep(cancelled, cancel_abort),
    ):
        async with asyncio.timeout(5):
            assert await lost_abort.wait() is AbortReason.SUPERSEDED
            assert await cancel_abort.wait() is AbortReason.CANCELLED
        # A cancelled run still owns its row until it has acknowledged; a superseded one does not.
        seen = len(database.calls)
        await eventually(lambda: len(database.calls) > seen + 1)
        assert database.calls[-1] == [cancelled]


async def test_a_failed_call_is_repeated_on_a_fresh_connection() -> None:
    database, abort = Database(), Abort()
    database.fails = 3
    with LeaseKeeper(database.open, ttl=5, renew_every=0.02) as keeper, keeper.keep(lease(), abort):
        await eventually(lambda: database.calls)
        # The call has come back to the keeper, on its own thread, by the time it makes the next one.
        seen = len(database.calls)
        await eventually(lambda: len(database.calls) > seen)
        await keeper.check()
    assert database.opened == 4
    assert not abort.tripped


async def test_a_database_that_hangs_fences_the_run_before_its_lease_ends() -> None:
    database, abort, held, fenced = Database(), Abort(), lease(), []
    database.hangs = True
    started = time.monotonic()
    with (
        LeaseKeeper(database.open, ttl=2, renew_every=0.1, on_fence=fenced.append) as keeper,
        keeper.keep(held, abort),
    ):
        async with asyncio.timeout(5):
            assert await abort.wait() is AbortReason.SUPERSEDED
        assert 1.39 <= time.monotonic() - started < 2
        assert fenced == [held]
        with pytest.raises(Unavailable):
            await keeper.check()


async def test_a_keeper_that_failed_is_healthy_again_once_it_keeps_nothing() -> None:
    database = Database()
    database.fails = 1_000_000
    with LeaseKeeper(database.open, ttl=5, renew_every=0.02) as keeper:
        with keeper.keep(lease(), Abort()):
            await eventually(lambda: database.opened > 1)
            with pytest.raises(Unavailable):
                await keeper.check()
        await keeper.check()


async def test_a_lease_is_overdue_by_the_clock_alone_before_anybody_says_so() -> None:
    held, now = lease(), time.monotonic()
    with LeaseKeeper(Database().open, ttl=1000, renew_every=400) as keeper:
        with keeper.keep(held, Abort(), since=now - 699):
            assert not keeper.overdue(held)
        renewals = Renewals(1000)
        renewals.add(held, Abort(), now)
        assert not renewals.overdue(held, now + 699)
        assert renewals.overdue(held, now + 701)
        assert not keeper.overdue(held)


async def test_a_fence_hook_that_fails_spares_nobody() -> None:
    def hook(_: Lease) -> None:
        raise ProcessLookupError

    renewals, first, second = Renewals(TTL, hook), Abort(), Abort()
    renewals.add(lease(), first, since=0)
    renewals.add(lease(), second, since=0)
    assert len(renewals.fence(TTL)) == 2
    assert await first.wait() is await second.wait() is AbortReason.SUPERSEDED


async def test_without_leases_nothing_is_asked() -> None:
    database = Database()
    with LeaseKeeper(database.open, ttl=5, renew_every=0.01) as keeper:
        await eventually(lambda: database.opened == 1)
        with keeper.keep(lease(), Abort()):
            await eventually(lambda: database.calls)
        seen = len(database.calls)
        await asyncio.sleep(0.1)
        assert len(database.calls) <= seen + 1


async def test_a_keeper_that_does_not_run_keeps_nothing() -> None:
    keeper = LeaseKeeper(Database().open, ttl=5, renew_every=1)
    with pytest.raises(Unavailable), keeper.keep(lease(), Abort()):
        pass
    keeper.close()
