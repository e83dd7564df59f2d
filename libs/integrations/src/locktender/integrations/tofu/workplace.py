"""The private directory of one run: made for it, removed after it, and swept when its runner died."""

import asyncio
import fcntl
import os
import secrets
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from locktender.integrations.tofu.leftovers import Mark, kill_all
from locktender.integrations.tofu.warden import remove
from locktender.integrations.tofu.warding import warded

_LOCK = ".lock"
_RANDOM = 6
_LONGEST_MARK = 200
_PRIVATE = 0o700


@dataclass(frozen=True, slots=True)
class Workplace:
    """Where a run works. Only the user of the runner can look inside."""

    root: Path

    @property
    def source(self) -> Path:
        """What was checked out."""
        return self.root / "source"

    @property
    def data(self) -> Path:
        """What the engine keeps for itself: providers, modules, the backend."""
        return self.root / "data"

    @property
    def home(self) -> Path:
        """The home directory of everything that runs."""
        return self.root / "home"

    @property
    def temporary(self) -> Path:
        """For temporary files."""
        return self.root / "tmp"

    @property
    def tokens(self) -> Path:
        """The identity tokens of the run, each in a file."""
        return self.root / "tokens"

    @property
    def plan_file(self) -> Path:
        """The plan. It holds sensitive values in clear."""
        return self.root / "plan.tfplan"

    @property
    def script_file(self) -> Path:
        """The script of a raw command. It may hold secrets in clear."""
        return self.root / "script"

    @property
    def empty_config(self) -> Path:
        """A CLI configuration that says nothing."""
        return self.root / "empty.tfrc"


@asynccontextmanager
async def workplace(root: Path, mark: Mark) -> AsyncGenerator[Workplace]:
    """A fresh workplace below `root`, removed at the end whatever happens.

    It is locked as long as this process lives, so that `sweep` knows whose owner is dead, and a warden clears up
    should this process die.
    """
    # Short, because providers put their sockets into the temporary directory, and the path of one has 107 bytes.
    name = secrets.token_hex(_RANDOM)
    place, lock = Workplace(root / name), root / f"{name}{_LOCK}"
    held = _taken(lock, mark)
    try:
        async with warded(place.root, lock, held, mark):
            try:
                _furnish(place)
                yield place
            finally:
                await asyncio.to_thread(remove, str(place.root))
    finally:
        with suppress(OSError):
            lock.unlink()
        os.close(held)


async def sweep(root: Path) -> int:
    """End what runs of dead runners left below `root`: their processes first, then their directories.

    Call it when a runner starts. Runs of other runners that are alive are left alone. Returns how many runs there were.

    Raises:
        ProcessesLeft: something does not die; its directory is kept.
    """
    swept = 0
    names = await asyncio.to_thread(_names, root)
    for name in names:
        held = _held(root / f"{name}{_LOCK}")
        if held is None:
            continue
        try:
            run, _, epoch = os.read(held, _LONGEST_MARK).decode(errors="replace").rpartition("/")
            # A mark that was never written is one of a run that had not started anything.
            if run and epoch.isdigit():
                await kill_all(Mark(run, int(epoch)))
            await asyncio.to_thread(remove, str(root / name))
            (root / f"{name}{_LOCK}").unlink(missing_ok=True)
            swept += 1
        finally:
            os.close(held)
    return swept


def _taken(lock: Path, mark: Mark) -> int:
    lock.parent.mkdir(mode=_PRIVATE, parents=True, exist_ok=True)
    held = _held(lock)
    if held is None:
        raise FileExistsError(lock.name)
    os.write(held, mark.value.encode())
    return held


def _furnish(place: Workplace) -> None:
    for directory in (place.root, place.source, place.data, place.home, place.temporary, place.tokens):
        directory.mkdir(mode=_PRIVATE)
    place.empty_config.touch(mode=0o600)


def _names(root: Path) -> list[str]:
    if not root.is_dir():
        return []
    return sorted({entry.name.removesuffix(_LOCK) for entry in root.iterdir()})


def _held(path: Path) -> int | None:
    """The lock, or None when a living process has it."""
    handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(handle)
        return None
    return handle
