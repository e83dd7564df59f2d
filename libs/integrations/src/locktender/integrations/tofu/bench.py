"""One run at work: an engine in a workplace, with everything that a command of the run needs."""

import json
import shlex
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from locktender.contracts.kernel.clock import Clock
from locktender.contracts.stacks.wire import RunContext, RunPort, RunSecrets
from locktender.integrations.tofu import arguments
from locktender.integrations.tofu.configure import check_backend, override_backend
from locktender.integrations.tofu.engine import Engine, EngineSettings
from locktender.integrations.tofu.failures import CommandFailed
from locktender.integrations.tofu.halting import Halt
from locktender.integrations.tofu.leftovers import Mark
from locktender.integrations.tofu.process import Command, Ran, run
from locktender.integrations.tofu.run_log import RunLog, Scrub
from locktender.integrations.tofu.workplace import Workplace

_MOST_JSON = 512 * 1024 * 1024

CheckOut = Callable[[RunContext, RunSecrets, Path], Coroutine[Any, Any, None]]
"""Puts the source of a run into an empty directory. Raises a `LocktenderError` whose message people may read."""


@dataclass(frozen=True, slots=True)
class ExecutionMeans:
    """What a runner has for its runs.

    Attributes:
        work_root: a directory of the runner's own, on a disk that holds a checkout and its providers. Keep its path
            short: providers put sockets below it.
        shell: the absolute path of bash, for raw scripts.
    """

    work_root: Path
    engines: EngineSettings
    check_out: CheckOut
    scrub: Scrub
    clock: Clock
    shell: str = "/bin/bash"


@dataclass(frozen=True, slots=True)
class StateStamp:
    """Which state there is. Both are None where there is none yet."""

    lineage: str | None
    serial: int | None


@dataclass(frozen=True, slots=True)
class Bench:
    """A run that can start commands."""

    context: RunContext
    secrets: RunSecrets
    port: RunPort
    means: ExecutionMeans
    mark: Mark
    halt: Halt
    log: RunLog
    place: Workplace
    directory: Path
    """Where the configuration is, inside the checkout."""
    engine: Engine
    environment: Mapping[str, str]

    async def start(self) -> None:
        """Connect the configuration to our backend and fetch its providers.

        Raises:
            CommandFailed: the engine refused.
            BackendBypassed: the state would be kept elsewhere.
        """
        override_backend(self.directory)
        await self.must(arguments.init(self.engine))
        check_backend(self.place.data)

    async def streamed(
        self, argv: Sequence[str], *, shown: Sequence[str] | None = None, whole_group: bool = False
    ) -> int:
        """Run a command whose output is the log, under a headline that names it. Returns its exit code."""
        await self.log.line(self.headline(shown or argv))
        command = Command(argv, self.directory, self.environment, whole_group=whole_group)
        return (await run(command, mark=self.mark, halt=self.halt, output=self.log.write)).code

    async def must(self, argv: Sequence[str]) -> None:
        """Run a command as `streamed` does.

        Raises:
            CommandFailed: it did not end with exit code 0.
        """
        code = await self.streamed(argv)
        if code != 0:
            raise CommandFailed(self.named(argv), code)

    async def document(self, argv: Sequence[str]) -> bytes:
        """What a command prints, which may be secret and is not logged; what it complains of is.

        Raises:
            CommandFailed: it did not end with exit code 0.
        """
        command = Command(argv, self.directory, self.environment, captured=_MOST_JSON)
        ran: Ran = await run(command, mark=self.mark, halt=self.halt, output=self.log.write)
        if ran.code != 0:
            raise CommandFailed(self.named(argv), ran.code)
        return ran.captured

    async def state_stamp(self) -> StateStamp:
        """Which state the backend has now."""
        document = await self.document(arguments.pull_state(self.engine))
        state = cast("object", json.loads(document)) if document.strip() else None
        match state:
            # Terraform shows a state that does not exist as one without a lineage.
            case {"lineage": str(lineage), "serial": int(serial)} if lineage:
                return StateStamp(lineage, serial)
            case _:
                return StateStamp(None, None)

    def headline(self, argv: Sequence[str]) -> str:
        """How the log announces a command."""
        return f"$ {shlex.join((Path(argv[0]).name, *argv[1:]))}"

    def named(self, argv: Sequence[str]) -> str:
        """How a message names a command: without its options."""
        words = [Path(argv[0]).name, *(word for word in argv[1:] if not word.startswith(("-", "/")))]
        return " ".join(words)
