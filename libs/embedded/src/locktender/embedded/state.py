"""The folder in which one embedded server keeps what must survive a restart, guarded by a file lock."""

import fcntl
import json
import os
import secrets
from pathlib import Path

from locktender.embedded.errors import EmbeddedError


class StateFolder:
    """A folder owned by one supervisor at a time.

    The lock is an `flock`: the kernel drops it when its holder dies, however it dies, so there is no stale lock.
    Files keep the owner of the surrounding state directory, so that a run as root in a user's folder does
    not lock the user out. Nothing here ever deletes a file that a server wrote.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock: int | None = None

    def acquire(self, step: str) -> None:
        """Create the folder where needed and take its lock. Calling it again while holding it does nothing.

        Raises:
            EmbeddedError: another process holds the lock, or the folder belongs to somebody else.
        """
        if self._lock is not None:
            return
        try:
            self._create()
            self._lock = self._take_lock(step)
        except PermissionError as error:
            raise EmbeddedError(
                step,
                f"{error.filename} cannot be used by this user",
                "Run as the user who created the state folder, or choose another state folder.",
            ) from error

    def release(self) -> None:
        """Let the next supervisor in. Safe to call twice."""
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def read(self) -> dict[str, str]:
        """The stored facts, or nothing where there are none or they cannot be understood."""
        try:
            loaded: object = json.loads((self.path / "state.json").read_text(encoding="utf-8"))
        except (FileNotFoundError, ValueError):
            return {}
        if not isinstance(loaded, dict):
            return {}
        return {str(key): str(value) for key, value in loaded.items()}  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]  # JSON

    def remember(self, **facts: str) -> None:
        """Add `facts` to what `read` returns, atomically."""
        self.write_private("state.json", json.dumps(self.read() | facts, indent=1, sort_keys=True) + "\n")

    def write_private(self, name: str, text: str) -> Path:
        """Replace the file `name` by `text`, atomically, readable by its owner alone."""
        target = self.path / name
        fresh = target.with_name(f".{target.name}.{secrets.token_hex(4)}")
        handle = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
            self._give_to_owner(fresh)
            fresh.replace(target)
        except BaseException:
            fresh.unlink(missing_ok=True)
            raise
        return target

    def secret(self, name: str, make: str) -> str:
        """The content of the private file `name`; where it is missing, `make` is stored first."""
        target = self.path / name
        if not target.exists():
            self.write_private(name, make + "\n")
        return target.read_text(encoding="utf-8").strip()

    def folder(self, name: str, mode: int) -> Path:
        """A folder below this one. `mode` is applied only when it is created here."""
        path = self.path / name
        if not path.is_dir():
            path.mkdir()
            path.chmod(mode)
            self._give_to_owner(path)
        return path

    def _create(self) -> None:
        root = self.path.parent
        # A server may run as another user than this process, so the folders made here can be entered by all
        # and listed by none. Folders that were there before are never touched.
        for path in (root, self.path):
            if not path.is_dir():
                path.mkdir(parents=True)
                path.chmod(0o711)
        self._give_to_owner(self.path)

    def _take_lock(self, step: str) -> int:
        handle = os.open(self.path / "lock", os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            holder = os.read(handle, 32).decode("ascii", "replace").strip() or "unknown"
            os.close(handle)
            raise EmbeddedError(
                step,
                f"another Locktender (process {holder}) already uses {self.path.parent}",
                "Stop it first, or choose another state folder.",
            ) from error
        os.ftruncate(handle, 0)
        os.pwrite(handle, f"{os.getpid()}\n".encode(), 0)
        self._give_to_owner(self.path / "lock")
        return handle

    def _give_to_owner(self, path: Path) -> None:
        if os.geteuid() == 0:
            owner = self.path.parent.stat()
            os.chown(path, owner.st_uid, owner.st_gid, follow_symlinks=False)
