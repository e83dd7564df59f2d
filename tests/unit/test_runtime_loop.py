import asyncio

from locktender.contracts.kernel.errors import Unavailable
from locktender.runtime.loop import Waker, adaptive, every
from locktender.runtime.stop import Stop
from locktender.testkit.clock import FakeClock


async def test_rounds_come_at_the_interval_and_end_with_the_stop() -> None:
    clock, stop, rounds = FakeClock(), Stop(), []

    async def work() -> None:
        rounds.append(clock.monotonic())

    async with asyncio.TaskGroup() as group:
        group.create_task(every(10, work, stop=stop, clock=clock, jitter=0))
        await clock.until_asleep()
        for _ in range(3):
            await clock.elapse(10)
        stop.request()
    assert rounds == [0, 10, 20, 30]


async def test_rounds_never_overlap_however_long_one_takes() -> None:
    clock, stop, running, most = FakeClock(), Stop(), 0, 0

    async def work() -> None:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await clock.sleep(25)
        running -= 1

    async with asyncio.TaskGroup() as group:
        task = group.create_task(every(10, work, stop=stop, clock=clock))
        await clock.until_asleep()
        await clock.elapse(200)
        task.cancel()
    assert most == 1


async def test_a_failed_round_is_told_and_followed_by_the_next() -> None:
    clock, stop, errors, rounds = FakeClock(), Stop(), [], 0

    async def work() -> None:
        nonlocal rounds
        rounds += 1
        raise Unavailable("away") if rounds == 1 else ValueError("a bug")

    async with asyncio.TaskGroup() as group:
        group.create_task(every(10, work, stop=stop, clock=clock, jitter=0, on_error=errors.append))
        await clock.until_asleep()
        await clock.elapse(20)
        stop.request()
    assert [type(error) for error in errors] == [Unavailable, ValueError, ValueError]


async def test_an_idle_loop_asks_ever_more_rarely_and_a_poke_wakes_it_at_once() -> None:
    clock, stop, waker, rounds = FakeClock(), Stop(), Waker(), []

    async def work() -> bool:
        rounds.append(round(clock.monotonic(), 3))
        return False

    async with asyncio.TaskGroup() as group:
        group.create_task(adaptive(work, stop=stop, clock=clock, waker=waker, floor=0.1, ceiling=2))
        await clock.until_asleep()
        await clock.elapse(60)
        assert rounds[:6] == [0, 0.1, 0.3, 0.7, 1.5, 3.1]
        assert len(rounds) < 40
        before = len(rounds)
        waker.wake()
        await clock.elapse(0)
        assert len(rounds) == before + 1
        stop.request()


async def test_work_that_finds_something_is_repeated_without_a_pause() -> None:
    clock, stop, left = FakeClock(), Stop(), 5

    async def work() -> bool:
        nonlocal left
        left -= 1
        return left > 0

    async with asyncio.TaskGroup() as group:
        group.create_task(adaptive(work, stop=stop, clock=clock))
        await clock.until_asleep()
        assert (left, clock.monotonic()) == (0, 0)
        stop.request()


async def test_a_poke_during_the_work_is_not_lost() -> None:
    clock, stop, waker, again = FakeClock(), Stop(), Waker(), asyncio.Event()
    rounds = 0

    async def work() -> bool:
        nonlocal rounds
        rounds += 1
        if rounds == 1:
            waker.wake()
        else:
            again.set()
        return False

    async with asyncio.timeout(5), asyncio.TaskGroup() as group:
        group.create_task(adaptive(work, stop=stop, clock=clock, waker=waker))
        await again.wait()
        assert clock.monotonic() == 0
        stop.request()


async def test_failing_work_is_tried_again_with_growing_pauses() -> None:
    clock, stop, rounds = FakeClock(), Stop(), 0

    async def work() -> bool:
        nonlocal rounds
        rounds += 1
        raise Unavailable("away")

    async with asyncio.TaskGroup() as group:
        group.create_task(adaptive(work, stop=stop, clock=clock))
        await clock.until_asleep()
        await clock.elapse(60)
        assert 12 <= rounds <= 40
        stop.request()
