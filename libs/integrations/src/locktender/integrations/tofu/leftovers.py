"""Processes of a run, found by the mark in their environment, and ended for certain.

Guaranteed: whatever a run started and that kept its environment, or descends from such a process, is found, whichever
session, group or parent it has now. Not guaranteed: a process that dropped its environment *and* whose ancestors of
the run are all dead; while the guardian of a run lives there is no such process.

This needs `/proc` of Linux.
"""

import asyncio
from dataclasses import dataclass

from locktender.integrations.tofu import warden
from locktender.integrations.tofu.failures import ProcessesLeft


@dataclass(frozen=True, slots=True)
class Mark:
    """Says in the environment of a process to which run, and to which epoch of it, it belongs."""

    run: str
    epoch: int

    @property
    def value(self) -> str:
        """What the variable holds."""
        return f"{self.run}/{self.epoch}"

    @property
    def environment(self) -> dict[str, str]:
        """What to add to the environment of everything that the run starts."""
        return {warden.MARK: self.value}


def processes_of(mark: Mark | str) -> frozenset[int]:
    """Numbers of the live processes of one epoch of a run, or, given the id of a run, of any epoch of it.

    It reads all of `/proc`: milliseconds, and it blocks, so call it in a thread. This process itself never counts.
    """
    return frozenset(pid for pid, _ in warden.found(_needle(mark)))


async def kill_all(mark: Mark | str) -> int:
    """SIGKILL every process of one epoch of a run, or of a run, until two looks in a row find none.

    Returns how many were killed.

    Raises:
        ProcessesLeft: some are still there after ten seconds.
    """
    calm = 0
    killed: set[tuple[int, int]] = set()
    for _ in range(warden.ROUNDS):
        found = await asyncio.to_thread(warden.kill_found, _needle(mark))
        killed |= found
        calm = 0 if found else calm + 1
        if calm == warden.CALM:
            return len(killed)
        await asyncio.sleep(warden.PAUSE)
    raise ProcessesLeft(await asyncio.to_thread(processes_of, mark))


def _needle(mark: Mark | str) -> bytes:
    return warden.needle_of(mark.value) if isinstance(mark, Mark) else warden.needle_of(mark, any_epoch=True)
