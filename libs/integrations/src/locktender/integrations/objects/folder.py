"""Objects as files of a local folder that survive a power cut.

obstore's own local store neither syncs what it wrote nor keeps files to this user, so this one does without it.
"""

import os
import stat
import tempfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TypeVar

from locktender.contracts.kernel.errors import Unavailable
from locktender.integrations.machine.threads import in_thread
from locktender.integrations.objects.backend import AlreadyThere, Listed, TooLong

T = TypeVar("T")
_INCOMING = ".incoming"
_TRIES = 8
_STALE_SECONDS = 86_400.0


class Folder:
    """A `Backend` on one folder, which it creates for this user alone (0700); files are 0600.

    Guaranteed, on a local POSIX file system with hard links: once `put` returns, the file and its name are on disk
    (`fsync` of both); whoever reads sees all of the old or all of the new content, also after a crash at any moment.
    Several processes may share the folder. What a crash leaves is in `.incoming`, is never listed, and is swept when a
    process opens the folder a day later. The mode of a folder that exists already is left as it is.

    The work is done in threads; a disk that hangs holds its caller, whatever deadline that has.
    """

    def __init__(self, root: Path) -> None:
        """Open the folder; blocking, but brief.

        Raises:
            Unavailable: it cannot be made or written.
        """
        self._root = root
        self._incoming = root / _INCOMING
        try:
            root.parent.mkdir(parents=True, exist_ok=True)
            self._make()
            self._sweep()
        except OSError as error:
            raise _unavailable(error) from error

    async def put(self, key: str, data: bytes, *, once: bool) -> None:
        await _blocking(partial(self._put, key, data, once))

    async def get(self, key: str, most: int) -> bytes:
        return await _blocking(partial(self._get, key, most))

    async def exists(self, key: str) -> bool:
        return await _blocking((self._root / key).is_file)

    async def names(self, prefix: str, most: int) -> list[str]:
        return await _blocking(partial(self._names, prefix, most))

    async def listed(self, prefix: str, after: str, most: int) -> list[Listed]:
        return await _blocking(lambda: list(islice(_ordered(self._root, prefix, after), most)))

    async def delete(self, key: str) -> None:
        await _blocking(partial(self._delete, key))

    def _put(self, key: str, data: bytes, once: bool) -> None:  # noqa: FBT001 - a partial passes it on
        target = self._root / key
        handle, staged = tempfile.mkstemp(dir=self._incoming)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(handle)
            self._name(Path(staged), target, once=once)
        finally:
            Path(staged).unlink(missing_ok=True)
        _sync(target.parent)

    def _name(self, staged: Path, target: Path, *, once: bool) -> None:
        for _ in range(_TRIES):
            # A deletion that empties the folder may remove it between any two steps.
            with suppress(FileNotFoundError):
                _make_folders(self._root, target.parent)
                try:
                    target.hardlink_to(staged) if once else staged.replace(target)
                except FileExistsError:
                    raise AlreadyThere from None
                return
        raise Unavailable("the folder of objects is emptied faster than it can be filled")

    def _get(self, key: str, most: int) -> bytes:
        try:
            handle = os.open(self._root / key, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        except NotADirectoryError:
            raise FileNotFoundError from None
        found = os.fstat(handle)
        if not stat.S_ISREG(found.st_mode):
            os.close(handle)
            raise FileNotFoundError
        with os.fdopen(handle, "rb") as file:
            if found.st_size > most:
                raise TooLong
            return file.read()

    def _names(self, prefix: str, most: int) -> list[str]:
        found: list[str] = []
        for name in _walk(self._root, prefix):
            if len(found) == most:
                break
            found.append(name)
        return found

    def _delete(self, key: str) -> None:
        target = self._root / key
        with suppress(FileNotFoundError, NotADirectoryError, IsADirectoryError):
            target.unlink()
            _sync(target.parent)
        # Folders of runs would pile up otherwise. The first that still holds something ends it.
        with suppress(OSError):
            for folder in target.relative_to(self._root).parents[:-1]:
                (self._root / folder).rmdir()

    def _make(self) -> None:
        with suppress(FileExistsError):
            self._root.mkdir(0o700)
        with suppress(FileExistsError):
            self._incoming.mkdir(0o700)
        _sync(self._root.parent)

    def _sweep(self) -> None:
        """Remove what crashes left; ages are by the clock of the file system alone, as that wrote the stamps."""
        handle, probe = tempfile.mkstemp(dir=self._incoming)
        os.close(handle)
        now = Path(probe).stat().st_mtime
        for entry in self._incoming.iterdir():
            with suppress(FileNotFoundError):
                if str(entry) == probe or now - entry.stat().st_mtime > _STALE_SECONDS:
                    entry.unlink()


def _walk(root: Path, prefix: str) -> Iterator[str]:
    for folder, folders, files in os.walk(root / prefix):
        if _INCOMING in folders and folder == str(root):
            folders.remove(_INCOMING)
        where = os.path.relpath(folder, root)
        yield from (name if where == "." else f"{where}/{name}" for name in files)


def _ordered(root: Path, folder: str, after: str) -> Iterator[Listed]:
    """The files below `folder` whose names sort behind `after`, in the order of their names."""
    try:
        entries = [(f"{folder}/{each.name}", each.is_dir(follow_symlinks=False)) for each in os.scandir(root / folder)]
    except (FileNotFoundError, NotADirectoryError):
        return
    # What is in a folder sorts as if the slash ended the folder's name.
    for name, is_folder in sorted((f"{name}/" if is_folder else name, is_folder) for name, is_folder in entries):
        if is_folder and (name > after or after.startswith(name)):
            yield from _ordered(root, name[:-1], after)
        elif not is_folder and name > after:
            with suppress(FileNotFoundError):
                yield Listed(name, datetime.fromtimestamp((root / name).lstat().st_mtime, UTC))


def _make_folders(root: Path, folder: Path) -> None:
    """Make `folder`, and put the names of what was made on disk."""
    for part in (*reversed(folder.relative_to(root).parents), folder.relative_to(root)):
        with suppress(FileExistsError):
            (root / part).mkdir(0o700)
            _sync((root / part).parent)


def _sync(folder: Path) -> None:
    with suppress(FileNotFoundError):
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


async def _blocking(work: Callable[[], T]) -> T:
    try:
        return await in_thread(work)
    except FileNotFoundError:
        raise
    except OSError as error:
        raise _unavailable(error) from error


def _unavailable(error: OSError) -> Unavailable:
    return Unavailable(f"the folder of objects cannot be used ({error.strerror or 'no reason given'})")
