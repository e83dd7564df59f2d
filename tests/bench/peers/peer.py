"""What a peer is: another job queue on PostgreSQL, in its best documented configuration for many small jobs."""

from contextlib import AbstractAsyncContextManager
from typing import Protocol

from tests.bench.load import Enqueue
from tests.bench.stamps import Stamps


class Peer(Protocol):
    """One peer. Its worker runs in a process of its own; who creates jobs shares the process of the benchmark."""

    @property
    def name(self) -> str:
        """Its name, with its version."""
        ...

    @property
    def unfinished(self) -> str:
        """A query that counts the jobs whose end is not yet recorded."""
        ...

    async def install(self, dsn: str) -> None:
        """Make its schema in an empty database, unless its worker does."""
        ...

    def clients(self, dsn: str, count: int) -> AbstractAsyncContextManager[list[Enqueue]]:
        """So many clients that create jobs one by one, each job committed when the call returns."""
        ...

    async def work(self, dsn: str, stamps: Stamps) -> None:
        """Be the worker, until the process is ended. Prints `ready` once it takes jobs.

        The job does nothing; where stamps are asked for, it notes the time since the call that created it.
        """
        ...


def ready() -> None:
    """Tell the benchmark that jobs are taken."""
    print("ready", flush=True)  # noqa: T201 - read by the parent
