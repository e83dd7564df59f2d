"""One command and everything that it starts: streamed, asked to stop, killed, and proven to be gone.

The command runs under a guardian (`guardian.py`): it dies with this process, even when this one is killed with
SIGKILL, and so does what left the command's group or session. Linux only.
"""

import asyncio
import os
import signal
import socket
import sys
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from locktender.integrations.tofu import guardian
from locktender.integrations.tofu.failures import CommandUnstartable, TooMuchOutput
from locktender.integrations.tofu.halting import Halt
from locktender.integrations.tofu.leftovers import Mark, kill_all

_CHUNK = 65_536
_LAST_OUTPUT = 60.0
"""Seconds in which the rest of the output must be taken in after the end of the command."""
_GUARDIAN = 30.0
"""Seconds until a guardian that was told to kill has done so or given up; its own bound is shorter."""

Output = Callable[[bytes], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Command:
    """What to run.

    Attributes:
        argv: the path of a program and its arguments, which every user of the machine can read: no secrets.
        directory: where.
        environment: all of it; nothing is inherited.
        whole_group: whether all of its process group is asked to stop, or only the command itself. The engine must be
            asked alone: it stops its providers when they are done, and a provider that gets SIGTERM dies at once,
            with what it was just creating unrecorded.
        captured: None to stream standard output; else it is kept in memory, up to so many bytes, and only standard
            error is streamed.
    """

    argv: Sequence[str]
    directory: Path
    environment: Mapping[str, str]
    whole_group: bool = False
    captured: int | None = None


@dataclass(frozen=True, slots=True)
class Ran:
    """A command that came to its end, of itself or not. A negative `code` is the signal that ended it."""

    code: int
    captured: bytes


async def run(command: Command, *, mark: Mark, halt: Halt, output: Output) -> Ran:
    """Run a command to its end, which is SIGTERM when `halt` stops and SIGKILL of everything when it kills.

    Guaranteed: however this ends (also by cancellation or an error of `output`, and then by SIGKILL at once), no
    process that the command started is alive after it. Output is taken in only as fast as `output` takes it: some
    64 KiB wait here, the command waits beyond that. Each call of `output` has at most 64 KiB.

    Raises:
        Halted: a stop had been asked for before; nothing was started.
        CommandUnstartable: the system refused.
        TooMuchOutput: it wrote more than may be captured, and was killed.
        ProcessesLeft: something of it cannot be killed.
        Exception: what `output` raised.
    """
    halt.check()
    if not sys.platform.startswith("linux"):
        raise CommandUnstartable(
            Path(command.argv[0]).name, "runs need Linux, where their processes can be proven gone"
        )
    mine, theirs = socket.socketpair()
    with mine, theirs:
        # No `await` lies between the start and the `try`, except in the start itself, which cleans up for itself.
        process = await _start_guardian(command, mark, theirs)
        try:
            theirs.close()
            return await _attend(process, mine, command, mark, halt, output)
        finally:
            # Its end of the socket tells the guardian to kill, however this was reached.
            mine.close()
            await _see_off(process, mark)


async def _start_guardian(command: Command, mark: Mark, control: socket.socket) -> asyncio.subprocess.Process:
    try:
        return await asyncio.create_subprocess_exec(
            sys.executable,
            "-I",
            "-S",
            guardian.__file__,
            cwd=command.directory,
            env=mark.environment,
            stdin=control.fileno(),
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT if command.captured is None else asyncio.subprocess.PIPE,
            start_new_session=True,
        )
    except OSError as fault:
        raise CommandUnstartable(Path(command.argv[0]).name, os.strerror(fault.errno or 0)) from fault


async def _attend(
    process: asyncio.subprocess.Process,
    control: socket.socket,
    command: Command,
    mark: Mark,
    halt: Halt,
    output: Output,
) -> Ran:
    reader, writer = await asyncio.open_connection(sock=control)
    captured = bytearray()
    try:
        environment = {**command.environment, **mark.environment}
        writer.write(guardian.order_of(command.argv, environment))
        async with asyncio.TaskGroup() as group:
            drains = [
                group.create_task(_stream(process.stdout, output))
                if command.captured is None
                else group.create_task(_capture(process.stdout, captured, command)),
                group.create_task(_stream(process.stderr, output)),
            ]
            obeying = group.create_task(_obey(halt, writer, command))
            code, proven = await _verdict(reader, command)
            obeying.cancel()
            if not proven:
                # The guardian is gone without the proof, and whatever is left may hold the output open.
                await kill_all(mark)
            _, unread = await asyncio.wait(drains, timeout=_LAST_OUTPUT)
            for drain in unread:
                drain.cancel()
    except BaseExceptionGroup as several:
        raise several.exceptions[0] from several
    finally:
        # Not `close`, which would wait for words that nobody reads any more.
        writer.transport.abort()
    return Ran(code, bytes(captured))


async def _obey(halt: Halt, writer: asyncio.StreamWriter, command: Command) -> None:
    await halt.stopping.wait()
    writer.write(b"term-group\n" if command.whole_group else b"term\n")
    await halt.killing.wait()
    writer.write(b"kill\n")


async def _verdict(reader: asyncio.StreamReader, command: Command) -> tuple[int, bool]:
    """The exit code of the command, once its guardian has ended, and whether that proved that nothing is left."""
    code: int | None = None
    proven = False
    with suppress(ConnectionError):
        while line := await reader.readline():
            word, _, value = line.decode("ascii").strip().partition(" ")
            if word == "unstartable":
                raise CommandUnstartable(Path(command.argv[0]).name, os.strerror(int(value)))
            if word == "ended":
                code = int(value)
            proven = proven or word == "empty"
    # A command that had to be killed may have ended unheard, and so has one whose guardian was killed.
    return -signal.SIGKILL if code is None else code, proven


async def _stream(stream: asyncio.StreamReader | None, output: Output) -> None:
    while stream is not None and (chunk := await stream.read(_CHUNK)):
        await output(chunk)


async def _capture(stream: asyncio.StreamReader | None, into: bytearray, command: Command) -> None:
    most = command.captured or 0
    while stream is not None and (chunk := await stream.read(_CHUNK)):
        into += chunk
        if len(into) > most:
            raise TooMuchOutput(Path(command.argv[0]).name, most)


async def _see_off(process: asyncio.subprocess.Process, mark: Mark) -> None:
    """Wait for the guardian's proof that nothing is left; without it, find and kill what there is."""
    try:
        async with asyncio.timeout(_GUARDIAN), asyncio.TaskGroup() as group:
            group.create_task(_stream(process.stdout, _drop))
            group.create_task(_stream(process.stderr, _drop))
            await process.wait()
    except TimeoutError:
        with suppress(ProcessLookupError):
            process.kill()
    if process.returncode != guardian.EMPTY:
        await kill_all(mark)


async def _drop(_chunk: bytes) -> None:
    """Nobody reads it any more."""
