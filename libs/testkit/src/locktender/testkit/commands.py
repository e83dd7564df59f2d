"""The command line as a person or a script runs it: a real process beside a running system."""

import asyncio
import json
import os
import sys
from dataclasses import dataclass
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


async def started(rig: SystemRig, *arguments: str, **environment: str) -> asyncio.subprocess.Process:
    """Start the command beside the system of the rig."""
    return await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "locktender.cli", *arguments),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env={"PATH": os.environ["PATH"], "LOCKTENDER_STATE": str(rig.folder), **environment},
    )


async def run(rig: SystemRig, *arguments: str, stdin: str = "", **environment: str) -> Ran:
    """Run the command to its end."""
    return await ended(await started(rig, *arguments, **environment), stdin)


async def ended(process: asyncio.subprocess.Process, stdin: str = "") -> Ran:
    """What a command says until its end; it never shows a stack trace."""
    async with asyncio.timeout(90):
        out, err = await process.communicate(stdin.encode())
    assert process.returncode is not None
    ran = Ran(process.returncode, out.decode(), err.decode())
    assert "Traceback" not in ran.err, ran.err
    return ran
