"""A Locktender service as a child process that is started again when it ends unasked."""

import asyncio
import os
import random
import signal
import sys
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from locktender.contracts.kernel.backoff import Backoff
from locktender.contracts.kernel.clock import Clock
from locktender.embedded.child import Child, ChildSpec
from locktender.embedded.errors import EmbeddedError

_KILL_SECONDS = 10.0
_BACKOFF = Backoff(first=0.2, ceiling=10.0)
_INHERITED = ("PATH", "HOME", "LANG", "LC_ALL", "TMPDIR", "SSL_CERT_FILE", "SSL_CERT_DIR")


@dataclass(frozen=True, slots=True)
class ServiceSpec:
    """One service and how patient its supervisor is.

    Attributes:
        name: for messages, and the stem of its log file.
        module: run as `python -m module`.
        environment: added to the few variables that every process needs; the rest of ours is not handed on.
        log_dir: folder for `<name>.log`, which must exist.
        arguments: after the module. Never a secret.
        drain_seconds: from SIGTERM to SIGKILL.
        healthy_seconds: a run of at least this long counts as good: the next restart waits the shortest time.
        most_restarts: restarts in a row, without a good run between, after which it is given up.
    """

    name: str
    module: str
    environment: Mapping[str, str] = field(repr=False)
    log_dir: Path
    arguments: tuple[str, ...] = ()
    drain_seconds: float = 30.0
    healthy_seconds: float = 30.0
    most_restarts: int = 20
    backoff: Backoff = _BACKOFF


@dataclass(frozen=True, slots=True)
class Restart:
    """A service ended unasked and will be started again.

    Attributes:
        service: its name.
        code: exit code; negative for the signal that ended it.
        attempt: restarts in a row, counted from one.
        delay: seconds until the start.
        log: the last lines it wrote.
    """

    service: str
    code: int
    attempt: int
    delay: float
    log: str = field(repr=False)


class ServiceProcess:
    """Keeps one service running between `supervise` and `stop`.

    It is ready when the service itself says so; this class knows only whether the process lives. Not reusable.
    """

    def __init__(self, spec: ServiceSpec, *, clock: Clock, report: Callable[[Restart], None]) -> None:
        self._spec = spec
        self._clock = clock
        self._report = report
        self._child: Child | None = None
        self._stopping = asyncio.Event()

    @property
    def pid(self) -> int | None:
        """Process id while it lives."""
        return self._child.pid if self._child is not None and self._child.alive else None

    def stop(self) -> None:
        """Ask `supervise` to end the service and return."""
        self._stopping.set()

    async def supervise(self) -> None:
        """Run the service, again and again, until `stop` or cancellation. It does not outlive this call.

        Each unasked end is reported before the restart.

        Raises:
            EmbeddedError: it cannot be started, ended too often in a row, or does not end.
        """
        attempt = 0
        while not self._stopping.is_set():
            started = self._clock.monotonic()
            child = self._child = Child(self._child_spec())
            try:
                await self._first(child.wait())
            finally:
                unasked = not child.alive and not self._stopping.is_set()
                code = await child.stop()
            if not unasked:
                return
            good = self._clock.monotonic() - started >= self._spec.healthy_seconds
            attempt = 1 if good else attempt + 1
            await self._pause(child, code, attempt)

    async def _pause(self, child: Child, code: int, attempt: int) -> None:
        tail = child.log.tail()
        if attempt > self._spec.most_restarts:
            raise EmbeddedError(
                self._spec.name,
                f"ended {attempt} times in a row, last with code {code}\n{tail}",
                f"See {child.log.path}.",
            )
        delay = self._spec.backoff.delay(attempt, random.random())  # noqa: S311 - spreads restarts, guards nothing
        self._report(Restart(self._spec.name, code, attempt, delay, tail))
        await self._first(self._clock.sleep(delay))

    async def _first(self, work: Coroutine[Any, Any, object]) -> None:
        """Return when `work` is done or `stop` was called, whichever is first."""
        async with asyncio.TaskGroup() as both:
            ends = [both.create_task(work), both.create_task(self._stopping.wait())]
            await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
            for end in ends:
                end.cancel()

    def _child_spec(self) -> ChildSpec:
        spec = self._spec
        kept = {name: os.environ[name] for name in _INHERITED if name in os.environ}
        return ChildSpec(
            name=spec.name,
            argv=(sys.executable, "-m", spec.module, *spec.arguments),
            env={**kept, "PYTHONUNBUFFERED": "1", **spec.environment},
            log=spec.log_dir / f"{spec.name}.log",
            stop=((signal.SIGTERM, spec.drain_seconds), (signal.SIGKILL, _KILL_SECONDS)),
            end_with_parent=signal.SIGTERM,
        )
