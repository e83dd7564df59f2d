"""Ending a run before its time: it is asked to stop, and killed when the grace is over."""

import asyncio
from collections.abc import Coroutine
from enum import StrEnum
from typing import Any, TypeVar

from locktender.contracts.kernel.clock import Clock
from locktender.contracts.kernel.errors import Unavailable
from locktender.contracts.stacks.wire import LeaseGone, RunPort
from locktender.integrations.tofu.failures import Halted

_ACKNOWLEDGING = 5
_PAUSE = 1.0

T = TypeVar("T")


class HaltReason(StrEnum):
    """Why a run is to end."""

    CANCEL = "cancel"
    DEADLINE = "deadline"


class Halt:
    """Whether a run is to end. The first reason stands, and nothing takes it back."""

    def __init__(self) -> None:
        self.stopping = asyncio.Event()
        """Set: commands are asked to stop, and no further one starts."""
        self.killing = asyncio.Event()
        """Set: commands are killed."""
        self.reason: HaltReason | None = None

    def stop(self, reason: HaltReason) -> None:
        """Ask the command that runs to stop."""
        if self.reason is None:
            self.reason = reason
        self.stopping.set()

    def kill(self) -> None:
        """Kill the command that runs. A stop must have been asked for before."""
        self.killing.set()

    def check(self) -> None:
        """Raises `Halted` when nothing more may start."""
        if self.stopping.is_set():
            raise Halted

    async def unless_stopped(self, work: Coroutine[Any, Any, T]) -> T:
        """The result of `work`, which is cancelled when a stop is asked for.

        Raises:
            Halted: a stop was asked for before `work` ended.
        """
        if self.stopping.is_set():
            work.close()
            raise Halted
        # `wait` takes in what the work raised without making a group of it, and the group sees to it that none is left.
        async with asyncio.TaskGroup() as group:
            working = group.create_task(_caught(work))
            stopping = group.create_task(self.stopping.wait())
            await asyncio.wait((working, stopping), return_when=asyncio.FIRST_COMPLETED)
            ended = working.done()
            working.cancel()
            stopping.cancel()
        if not ended or working.cancelled():
            raise Halted
        result, fault = working.result()
        if fault is not None:
            raise fault
        return result  # pyright: ignore[reportReturnType]  # without a fault there is a result


async def _caught(work: Coroutine[Any, Any, T]) -> tuple[T | None, Exception | None]:
    try:
        return await work, None
    except Exception as fault:  # noqa: BLE001 - it is raised again by whoever waits
        return None, fault


async def watch(halt: Halt, port: RunPort, clock: Clock, *, deadline_seconds: float, grace_seconds: float) -> None:
    """Turn what the port and the clock say into halts, until cancelled.

    Raises:
        LeaseGone: the lease is gone; whoever waits for the run must let it be killed at once.
    """
    async with asyncio.TaskGroup() as group:
        group.create_task(_until_lost(port))
        group.create_task(_until_cancelled(halt, port, clock, grace_seconds))
        group.create_task(_until_deadline(halt, clock, deadline_seconds, grace_seconds))


async def _until_lost(port: RunPort) -> None:
    await port.lost.wait()
    raise LeaseGone


async def _until_cancelled(halt: Halt, port: RunPort, clock: Clock, grace_seconds: float) -> None:
    await port.cancelled.wait()
    # It is said before the tool is asked to stop: whatever the tool then ends with, the run is a cancelled one. When
    # nobody can be told, the tool is stopped all the same, as a person asked for.
    for _ in range(_ACKNOWLEDGING):
        try:
            await port.acknowledge_cancel()
        except Unavailable:
            await clock.sleep(_PAUSE)
        else:
            break
    await _end(halt, HaltReason.CANCEL, clock, grace_seconds)


async def _until_deadline(halt: Halt, clock: Clock, deadline_seconds: float, grace_seconds: float) -> None:
    await clock.sleep(deadline_seconds)
    await _end(halt, HaltReason.DEADLINE, clock, grace_seconds)


async def _end(halt: Halt, reason: HaltReason, clock: Clock, grace_seconds: float) -> None:
    halt.stop(reason)
    await clock.sleep(grace_seconds)
    halt.kill()
