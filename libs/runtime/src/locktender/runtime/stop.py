"""The one signal that a process should come to an end."""

import asyncio


class Stop:
    """Requested once, for good. Belongs to one event loop; other threads use `call_soon_threadsafe(stop.request)`."""

    def __init__(self) -> None:
        self._event = asyncio.Event()

    @property
    def requested(self) -> bool:
        """Whether the process should finish what it holds and take nothing new."""
        return self._event.is_set()

    def request(self) -> None:
        """Ask for the end. Asking again changes nothing."""
        self._event.set()

    async def wait(self) -> None:
        """Return once the end was asked for. Has no deadline: it waits for a person or an orchestrator."""
        await self._event.wait()
