"""Old versions of states. The row first, as it is the promise that the version can be read, and then the object."""

import structlog

from locktender.contracts.kernel.faults import FaultPoints
from locktender.integrations.objects.remover import ObjectRemover
from locktender.storage.stacks.retention import FIRST_STACK, StackRetention

_log = structlog.stdlib.get_logger(__name__)


class StateVersions:
    """Forgets old versions, a page of stacks a step.

    A crash between row and object leaves an object that no row stands for, which is removed as a leftover.

    Args:
        age: seconds for which every version is kept, and those of a deleted stack after its end.
        versions: how many of a stack are kept however old they are, besides the one that counts.
        limit: stacks, and versions, of one statement.
    """

    name = "states"

    def __init__(
        self,
        retention: StackRetention,
        remover: ObjectRemover,
        faults: FaultPoints,
        *,
        age: float,
        versions: int,
        limit: int,
    ) -> None:
        self.removed = 0
        """Objects that were removed by this process."""
        self._retention = retention
        self._remover = remover
        self._faults = faults
        self._age = age
        self._versions = versions
        self._limit = limit
        self._after = FIRST_STACK

    async def step(self) -> bool:
        """Deal with the next page. True: it was the last one.

        Raises:
            Unavailable: the record or the store does not answer.
        """
        stacks = await self._retention.stacks(after=self._after, limit=self._limit)
        forgotten = await self._retention.remove_states(
            stacks, age=self._age, versions=self._versions, limit=self._limit
        )
        await self._faults.reach("cleanup.after-rows")
        for state in forgotten:
            await self._remover.delete(state.object_key)
            self.removed += 1
            _log.info("a version of a state was removed", version=str(state.id), stack=str(state.stack_id))
        if len(forgotten) == self._limit:
            # There may be more of the same stacks.
            return False
        last = len(stacks) < self._limit
        self._after = FIRST_STACK if last else stacks[-1]
        return last
