"""Programs of others: run in a group of their own, given nothing of this process, ended in time."""

import asyncio
import os
import signal
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

_CHUNK = 65_536
_SAID = 400


@dataclass(frozen=True, slots=True)
class Ran:
    """A program that came to its end."""

    code: int
    out: bytes
    err: bytes

    @property
    def said(self) -> str:
        """The end of what it complained of, on one line, for people."""
        text = " ".join(self.err.decode(errors="replace").split())
        clean = "".join(c if c.isprintable() else "?" for c in text)
        return clean if len(clean) <= _SAID else f"...{clean[-_SAID:]}"


class TooMuchOutput(Exception):
    """A program wrote more than it may; it was killed."""


async def run(
    argv: Sequence[str],
    *,
    cwd: Path,
    env: Mapping[str, str],
    seconds: float,
    most_bytes: int,
    stdin: bytes = b"",
) -> Ran:
    """Run a program to its end. `env` is all of its environment, and `argv` is visible to every user: never a secret.

    Whatever happens, cancellation included, neither it nor anything that it started in its group outlives this call.

    Raises:
        OSError: it cannot be started.
        TimeoutError: it took longer than `seconds`.
        TooMuchOutput: it wrote more than `most_bytes`.
    """
    process = await asyncio.create_subprocess_exec(
        *argv,
        cwd=cwd,
        env=dict(env),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        start_new_session=True,
    )
    out, err = bytearray(), bytearray()
    try:
        async with asyncio.timeout(seconds), asyncio.TaskGroup() as group:
            group.create_task(_feed(process, stdin))
            group.create_task(_drain(process, process.stdout, out, most_bytes))
            group.create_task(_drain(process, process.stderr, err, most_bytes))
            await process.wait()
    finally:
        await _end(process)
    if max(len(out), len(err)) > most_bytes:
        raise TooMuchOutput
    return Ran(process.returncode or 0, bytes(out), bytes(err))


async def _feed(process: asyncio.subprocess.Process, data: bytes) -> None:
    if process.stdin is None or process.stdin.is_closing():
        # A program may have ended before its input begins; uvloop then takes a write for a mistake of ours.
        return
    # A program that does not read has its reasons, and says so when it ends. uvloop raises a RuntimeError where it has
    # ended between the look above and the write.
    with suppress(BrokenPipeError, ConnectionResetError, RuntimeError):
        process.stdin.write(data)
        await process.stdin.drain()
        # Nobody waits until it is closed: a cancel in that wait would leave asyncio with a future that it sets again.
        process.stdin.close()


async def _drain(
    process: asyncio.subprocess.Process, stream: asyncio.StreamReader | None, into: bytearray, most: int
) -> None:
    while stream is not None and (chunk := await stream.read(_CHUNK)):
        into += chunk
        if len(into) > most:
            _kill(process)
            return


async def _end(process: asyncio.subprocess.Process) -> None:
    """Kill what is left of the group, and take in the rest of its output so that its pipes are closed."""
    _kill(process)
    if process.stdin is not None:
        process.stdin.close()
    await process.wait()
    for stream in (process.stdout, process.stderr):
        while stream is not None and await stream.read(_CHUNK):
            pass


def _kill(process: asyncio.subprocess.Process) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
