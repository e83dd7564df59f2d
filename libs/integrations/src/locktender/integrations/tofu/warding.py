"""A warden beside a run: started with its directory, and bidden goodbye when the runner has cleared up itself."""

import asyncio
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

from locktender.integrations.tofu import warden
from locktender.integrations.tofu.leftovers import Mark

_GOODBYE = 10.0
"""Seconds for a warden to end; one that is still there has nothing left to do, and is killed."""


@asynccontextmanager
async def warded(directory: Path, lock: Path, held: int, mark: Mark) -> AsyncGenerator[None]:
    """As long as this lasts, the death of this process ends the run of `mark` and removes `directory` and `lock`.

    Not guaranteed where the warden dies as well, as with the machine or a container: then the next sweep does it.
    `held` is the descriptor of the lock, which the warden shares.

    Raises:
        OSError: it cannot be started.
    """
    directory, lock = directory.absolute(), lock.absolute()  # noqa: ASYNC240 - they ask for the working directory alone
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-I",
        "-S",
        warden.__file__,
        mark.value,
        str(directory),
        str(lock),
        cwd="/",
        env={},
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.DEVNULL,
        pass_fds=(held,),
        start_new_session=True,
    )
    try:
        yield
    finally:
        await _goodbye(process)


async def _goodbye(process: asyncio.subprocess.Process) -> None:
    try:
        async with asyncio.timeout(_GOODBYE):
            # It may have been killed. uvloop raises a RuntimeError where that happens while it is written to.
            with suppress(OSError, RuntimeError):
                await process.communicate(b".")
            await process.wait()
    except TimeoutError:
        with suppress(ProcessLookupError):
            process.kill()
        await process.wait()
