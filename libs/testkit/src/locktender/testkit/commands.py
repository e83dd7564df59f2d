"""The command line as a person or a script runs it: a real process beside a running system."""

import asyncio
import json
import os
import signal
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from locktender.testkit.system import SystemRig


@dataclass(frozen=True, slots=True)
class Ran:
    """A command that has ended."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """Its one JSON object."""
        return json.loads(self.out)

    @property
    def lines(self) -> list[Any]:
        """Its JSON objects, one a line."""
        return [json.loads(line) for line in self.out.splitlines()]


async def started(
    beside: SystemRig | Path, *arguments: str, stdout: int = asyncio.subprocess.PIPE, **environment: str
) -> asyncio.subprocess.Process:
    """Start the command beside a system, or with a state folder of its own."""
    folder = beside if isinstance(beside, Path) else beside.folder
    return await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "locktender.cli", *arguments),
        stdin=asyncio.subprocess.PIPE,
        stdout=stdout,
        stderr=asyncio.subprocess.PIPE,
        env={"PATH": os.environ["PATH"], "LOCKTENDER_STATE": str(folder), **environment},
    )


async def run(beside: SystemRig | Path, *arguments: str, stdin: str = "", **environment: str) -> Ran:
    """Run the command to its end."""
    return await ended(await started(beside, *arguments, **environment), stdin)  # pyright: ignore[reportArgumentType]  # what is left is the environment


async def ended(process: asyncio.subprocess.Process, stdin: str = "", *, seconds: float = 90.0) -> Ran:
    """What a command says until its end; it never shows a stack trace."""
    async with asyncio.timeout(seconds):
        out, err = await process.communicate(stdin.encode())
    assert process.returncode is not None
    ran = Ran(process.returncode, (out or b"").decode(), err.decode())
    assert "Traceback" not in ran.err, ran.err
    return ran


async def interrupted(process: asyncio.subprocess.Process, *, seconds: float = 90.0) -> int:
    """Press Ctrl-C; the exit code."""
    process.send_signal(signal.SIGINT)
    return (await ended(process, seconds=seconds)).code
