"""The log of a run: scrubbed, in order, and never the reason why a run fails."""

import codecs
from collections.abc import Callable, Sequence
from typing import Protocol

from locktender.contracts.kernel.errors import Unavailable
from locktender.contracts.stacks.wire import RunPort

_LOST = b"[some output could not be kept]\n"


class TextScrub(Protocol):
    """Takes known secret values out of text that arrives in pieces, also where a value is split over pieces."""

    def feed(self, piece: str) -> str:
        """What can be said for sure after `piece`."""
        ...

    def close(self) -> str:
        """What was held back. The stream is as new afterwards."""
        ...


Scrub = Callable[[Sequence[str]], TextScrub]
"""Makes a stream that withholds these values."""


class RunLog:
    """Where the output of a run goes.

    An API that cannot be reached costs output, and the log says so later; the run goes on.
    """

    def __init__(self, port: RunPort, scrub: TextScrub) -> None:
        self._port = port
        self._scrub = scrub
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
        self._lost = False
        self._begun = False

    async def write(self, chunk: bytes) -> None:
        """Output of a command.

        Raises:
            LeaseGone: nobody may write any more.
        """
        await self._keep(self._scrub.feed(self._decoder.decode(chunk)))

    async def line(self, text: str) -> None:
        """A line of ours, on a line of its own: it also ends what a command before it left unfinished."""
        rest = self._scrub.feed(self._decoder.decode(b"", final=True)) + self._scrub.close()
        shown = self._scrub.feed(f"{text}\n") + self._scrub.close()
        begun = not rest.endswith("\n") if rest else self._begun
        await self._keep(rest + ("\n" if begun else "") + shown)

    async def close(self) -> None:
        """Keep what was held back."""
        await self._keep(self._scrub.feed(self._decoder.decode(b"", final=True)) + self._scrub.close())

    async def _keep(self, text: str) -> None:
        if not text:
            return
        self._begun = not text.endswith("\n")
        chunk = text.encode()
        try:
            await self._port.log(_LOST + chunk if self._lost else chunk)
        except Unavailable:
            self._lost = True
        else:
            self._lost = False
