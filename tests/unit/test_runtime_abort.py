import asyncio

import pytest

from locktender.runtime.abort import Abort, Aborted, AbortReason


async def test_a_trip_cancels_the_body_and_its_cleanup_runs() -> None:
    abort, cleaned = Abort(), []

    async def run() -> None:
        async with abort.scope():
            try:
                await asyncio.Event().wait()
            finally:
                await asyncio.sleep(0)
                cleaned.append(True)

    asyncio.get_running_loop().call_soon(abort.trip, AbortReason.CANCELLED)
    with pytest.raises(Aborted) as aborted:
        await run()
    assert aborted.value.reason is AbortReason.CANCELLED
    assert cleaned == [True]
    await asyncio.sleep(0)


async def test_a_scope_opened_after_the_trip_never_begins() -> None:
    abort, began = Abort(), []
    abort.trip(AbortReason.SHUTDOWN)
    with pytest.raises(Aborted):
        async with abort.scope():
            began.append(True)
    assert began == []


async def test_the_first_reason_wins_unless_the_lease_is_lost() -> None:
    abort = Abort()
    abort.trip(AbortReason.CANCELLED)
    abort.trip(AbortReason.SHUTDOWN)
    assert abort.reason is AbortReason.CANCELLED
    abort.trip(AbortReason.SUPERSEDED)
    abort.trip(AbortReason.CANCELLED)
    assert await abort.wait() is AbortReason.SUPERSEDED


async def test_a_trip_by_the_body_itself_leaves_no_cancellation_behind() -> None:
    abort = Abort()
    with pytest.raises(Aborted):
        async with abort.scope():
            abort.trip(AbortReason.OVERRUN)
    await asyncio.sleep(0)


async def test_an_error_of_the_body_is_not_hidden_by_the_abort() -> None:
    abort = Abort()

    async def run() -> None:
        async with abort.scope():
            try:
                abort.trip(AbortReason.CANCELLED)
                await asyncio.sleep(1)
            finally:
                raise ValueError("cleanup")

    with pytest.raises(ValueError, match="cleanup"):
        await run()
    await asyncio.sleep(0)


async def test_children_of_the_body_are_cancelled_as_well() -> None:
    abort, ended = Abort(), []

    async def child() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.append(True)

    async def run() -> None:
        async with abort.scope(), asyncio.TaskGroup() as group:
            group.create_task(child())
            group.create_task(child())

    asyncio.get_running_loop().call_later(0.01, abort.trip, AbortReason.CANCELLED)
    with pytest.raises(Aborted):
        await run()
    assert ended == [True, True]


async def test_a_cancellation_from_elsewhere_stays_a_cancellation() -> None:
    abort = Abort()

    async def body() -> None:
        async with abort.scope():
            await asyncio.Event().wait()

    async with asyncio.TaskGroup() as group:
        task = group.create_task(body())
        await asyncio.sleep(0)
        task.cancel()
    assert task.cancelled()


async def test_a_scope_that_was_not_tripped_changes_nothing() -> None:
    abort = Abort()
    async with abort.scope():
        await asyncio.sleep(0)
    abort.trip(AbortReason.CANCELLED)
    await asyncio.sleep(0)
