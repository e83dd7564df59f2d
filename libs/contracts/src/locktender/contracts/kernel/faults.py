"""Named places where a process may be made to die, stall or fail. In production every one of them does nothing."""

from typing import Protocol


class FaultPoints(Protocol):
    """Reached at the dangerous places: before a commit, after it, after an effect, before an ack."""

    async def reach(self, name: str) -> None:
        """May never return, may raise, usually does nothing. `name` is `<service>.<place>`."""
        ...


class NoFaults:
    """What ships: nothing happens anywhere."""

    async def reach(self, name: str) -> None:
        """Nothing."""


NO_FAULTS = NoFaults()
