"""Short folders for servers of tests, removed afterwards, even those of a run that was killed."""

import os
import shutil
import tempfile
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path

_PREFIX = "lt-"


@contextmanager
def scratch_dir() -> Generator[Path]:
    """A new folder `/tmp/lt-<pid>-…` that other users can enter, so that a server may drop its rights in it."""
    _sweep(_top())
    path = Path(tempfile.mkdtemp(prefix=f"{_PREFIX}{os.getpid()}-", dir=_top()))
    path.chmod(0o711)
    try:
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)


def _top() -> Path:
    # Pytest's own temporary folders are private to one user.
    return Path("/tmp") if Path("/tmp").is_dir() else Path(tempfile.gettempdir())  # noqa: S108 - the name is random


def _sweep(top: Path) -> None:
    """Remove the folders of runs that no longer live. A reused process id only delays that."""
    for path in top.glob(f"{_PREFIX}[0-9]*-*"):
        pid = path.name.split("-")[1]
        with suppress(OSError):
            if path.stat().st_uid == os.geteuid() and pid.isdecimal() and not _lives(int(pid)):
                shutil.rmtree(path, ignore_errors=True)


def _lives(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
