"""The command line at a terminal: a real pseudo-terminal, read with a bound, typed into like a person does.

async with at_terminal(rig, "deploy", "--template", "guestbook") as screen:
    await screen.until("contact:")
    screen.type("guests@example.com")
    assert await screen.ended() == 0
"""

import asyncio
import fcntl
import os
import pty
import re
import struct
import sys
import termios
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress

from locktender.testkit.system import SystemRig

_PATIENCE = 60.0
_ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b[()=>].?|\x07|\r")
_PIECES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b[()=>].?|[\n\r\x07\x08]|[^\x1b\n\r\x07\x08]+")
_LARGEST = 4_000_000
# The process has to make the terminal its own, so that Ctrl-C and hidden input work as they do for people.
_START = (
    "import fcntl, os, sys, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0); "
    "os.execv(sys.executable, [sys.executable, '-m', 'locktender.cli', *sys.argv[1:]])"
)


class Screen:
    """What a command has shown so far, and the keyboard below it."""

    def __init__(self, process: asyncio.subprocess.Process, master: int) -> None:
        self._process = process
        self._master = master
        self._raw = bytearray()
        self._more = asyncio.Event()
        self._seen = 0
        asyncio.get_running_loop().add_reader(master, self._read)

    @property
    def raw(self) -> str:
        """Everything, with the escape sequences."""
        return self._raw.decode(errors="replace")

    @property
    def text(self) -> str:
        """Everything that was ever shown, without escape sequences."""
        return _ESCAPES.sub("", self.raw)

    @property
    def picture(self) -> list[str]:
        """The lines as they stand on the screen and above it, each without the spaces at its end.

        Knows what a line editor and a redrawn tree do: up, erase a line, back to its begin.
        """
        lines, row, column = [""], 0, 0
        for piece in _PIECES.findall(self.raw):
            match piece:
                case "\n":
                    row, column = row + 1, 0
                    lines += [""] * (row + 1 - len(lines))
                case "\r":
                    column = 0
                case "\x08":
                    column = max(column - 1, 0)
                case str() if move := re.fullmatch(r"\x1b\[(\d*)A", piece):
                    row = max(row - int(move[1] or 1), 0)
                case str() if move := re.fullmatch(r"\x1b\[([02]?)K", piece):
                    lines[row] = "" if move[1] == "2" else lines[row][:column]
                case str() if not piece.startswith(("\x1b", "\x07")):
                    lines[row] = f"{lines[row]:<{column}}"[:column] + piece + lines[row][column + len(piece) :]
                    column += len(piece)
                case _:
                    pass
        return [line.rstrip() for line in lines]

    async def until(self, wanted: str, seconds: float = _PATIENCE) -> None:
        """Return once `wanted` is shown, after what was waited for before.

        Raises:
            AssertionError: it was not.
        """
        try:
            async with asyncio.timeout(seconds):
                while (place := self.text.find(wanted, self._seen)) < 0:
                    self._more.clear()
                    await self._more.wait()
        except TimeoutError:
            raise AssertionError(f"{wanted!r} is not shown:\n{self.text[self._seen :][-3000:]}") from None
        self._seen = place + len(wanted)

    def type(self, line: str) -> None:
        """A line, and Enter."""
        os.write(self._master, line.encode() + b"\r")

    def press(self, keys: bytes) -> None:
        """Keys as they are."""
        os.write(self._master, keys)

    def clear_and_type(self, line: str) -> None:
        """Take back what stands in the line, then type."""
        self.press(b"\x15")
        self.type(line)

    async def fill(self, **answers: str | None) -> None:
        """Answer prompts in turn, each by its key; None accepts what stands there."""
        for key, answer in answers.items():
            await self.until(f"    {key}")
            await self.until(": ")
            self.type("") if answer is None else self.clear_and_type(answer)

    async def interrupt(self) -> int:
        """Press Ctrl-C, and again like anybody where nothing happens; the exit code.

        A line editor that has just drawn its prompt may miss the first one.
        """
        for _ in range(5):
            self.press(b"\x03")
            with suppress(TimeoutError):
                return await self.ended(5)
        raise AssertionError(f"Ctrl-C does not end it:\n{self.text[-2000:]}")

    async def ended(self, seconds: float = _PATIENCE) -> int:
        """The exit code. It never shows a stack trace."""
        async with asyncio.timeout(seconds):
            code = await self._process.wait()
        self._read()
        assert "Traceback" not in self.text, self.text
        return code

    def close(self) -> None:
        """Give the terminal up."""
        asyncio.get_running_loop().remove_reader(self._master)
        os.close(self._master)

    def _read(self) -> None:
        # A terminal whose program has ended answers with an error, and one without news with another.
        with suppress(OSError):
            while len(self._raw) < _LARGEST and (piece := os.read(self._master, 65_536)):
                self._raw += piece
        self._more.set()
        if self._process.returncode is not None:
            asyncio.get_running_loop().remove_reader(self._master)


@asynccontextmanager
async def at_terminal(
    rig: SystemRig, *arguments: str, columns: int = 120, rows: int = 50, **environment: str
) -> AsyncGenerator[Screen]:
    """Start the command at a terminal of its own beside the system of the rig."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
    os.set_blocking(master, False)
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", _START, *arguments),
        stdin=slave,
        stdout=slave,
        stderr=slave,
        start_new_session=True,
        env={
            "PATH": os.environ["PATH"],
            "TERM": "xterm-256color",
            "LANG": "C.UTF-8",
            "LOCKTENDER_STATE": str(rig.folder),
            **environment,
        },
    )
    os.close(slave)
    screen = Screen(process, master)
    try:
        yield screen
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
        screen.close()
