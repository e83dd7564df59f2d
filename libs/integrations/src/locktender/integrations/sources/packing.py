"""A folder as an archive that is the same, byte by byte, wherever and whenever it is packed."""

import gzip
import hashlib
import io
import os
import posixpath
import stat
import tarfile
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import partial
from pathlib import Path
from typing import Final

from locktender.integrations.machine.threads import in_thread
from locktender.integrations.sources.archive_limits import ArchiveLimits
from locktender.integrations.sources.errors import ArchiveRefused, SourceUnavailable
from locktender.integrations.sources.working_tree import files_of

LEFT_OUT: Final = (
    ".git",
    ".terraform",
    ".terragrunt-cache",
    ".terraform.tfstate.lock.info",
    "terraform.tfstate",
    "terraform.tfstate.*",
    "crash.log",
    "crash.*.log",
    ".DS_Store",
)
"""Names of files and folders that never belong to the configuration of a stack; local states hold secrets."""
_LEVEL = 6
_NORMAL = ArchiveLimits()


@dataclass(frozen=True, slots=True)
class Archive:
    """A packed folder. `sha256` is of `data`, in hex."""

    data: bytes = field(repr=False)
    sha256: str
    files: int


async def pack(folder: Path, ignore: Collection[str] = LEFT_OUT, limits: ArchiveLimits = _NORMAL) -> Archive:
    """The files and symbolic links of a folder as a tar.gz; empty folders are not kept.

    Left out is, anywhere, what a pattern of `ignore` matches by its name; in a working tree of git also what git
    ignores, unless that is all of it. The same files give the same bytes: no times, no owners, and of modes only
    whether a file is executable.

    Raises:
        ArchiveRefused: it is above a limit, a link leads out of the folder, or something is neither file nor link.
        SourceUnavailable: the folder cannot be read.
    """
    try:
        listed = await files_of(folder)
        work: Callable[[], Archive] = partial(_pack, folder, listed, ignore, limits)
        return await in_thread(work)
    except OSError as error:
        raise SourceUnavailable(f"the folder cannot be read ({error.strerror})") from error


def _pack(folder: Path, listed: Iterable[str] | None, ignore: Collection[str], limits: ArchiveLimits) -> Archive:
    found = _chosen(folder, listed, ignore) if listed else _below(folder, "", ignore)
    names = sorted(set(found))
    if len(names) > limits.entries:
        raise ArchiveRefused(f"the folder has more than {limits.entries} files")
    if strange := next((name for name in names if not name.isprintable()), None):
        raise ArchiveRefused(f"the name {strange!a} cannot be packed; rename that file")
    packed = io.BytesIO()
    with gzip.GzipFile(filename="", mode="wb", compresslevel=_LEVEL, fileobj=packed, mtime=0) as squeezed:
        left = limits.bytes
        with tarfile.open(fileobj=squeezed, mode="w|", format=tarfile.PAX_FORMAT) as tar:
            for name in names:
                info, content = _entry(folder, name, left)
                left -= info.size + tarfile.BLOCKSIZE
                tar.addfile(info, io.BytesIO(content))
    data = packed.getvalue()
    if len(data) > limits.packed_bytes:
        raise ArchiveRefused(f"the archive is larger than {limits.packed_bytes} bytes")
    return Archive(data, hashlib.sha256(data).hexdigest(), len(names))


def _chosen(folder: Path, listed: Iterable[str], ignore: Collection[str]) -> Iterator[str]:
    for name in listed:
        path = folder / name
        there = path.is_symlink() or path.exists()
        if not there or any(_left_out(part, ignore) for part in name.split("/")):
            continue
        if path.is_dir() and not path.is_symlink():
            yield from _below(folder, name, ignore)
        else:
            yield name


def _below(folder: Path, start: str, ignore: Collection[str]) -> Iterator[str]:
    waiting = [start]
    while waiting:
        where = waiting.pop()
        with os.scandir(folder / where) as entries:
            for entry in entries:
                name = f"{where}/{entry.name}" if where else entry.name
                if _left_out(entry.name, ignore):
                    continue
                if entry.is_dir(follow_symlinks=False):
                    waiting.append(name)
                else:
                    yield name


def _left_out(name: str, ignore: Collection[str]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in ignore)


def _entry(folder: Path, name: str, left: int) -> tuple[tarfile.TarInfo, bytes]:
    path = folder / name
    info = tarfile.TarInfo(name)
    found = path.lstat()
    if stat.S_ISLNK(found.st_mode):
        info.type, info.mode = tarfile.SYMTYPE, 0o777
        info.linkname = str(path.readlink())
        if not stays_inside(name, info.linkname):
            raise ArchiveRefused(f"the link {name} leads out of the folder")
        return info, b""
    if not stat.S_ISREG(found.st_mode):
        raise ArchiveRefused(f"{name} is neither a file nor a link")
    if found.st_size > left:
        raise ArchiveRefused("the folder is larger than an archive may be")
    content = path.read_bytes()
    info.size = len(content)
    info.mode = 0o755 if found.st_mode & stat.S_IXUSR else 0o644
    return info, content


def stays_inside(name: str, target: str) -> bool:
    """Whether a link `name` to `target` is relative and, read by its text alone, leads to nothing outside."""
    reached = posixpath.normpath(posixpath.join(posixpath.dirname(name), target))
    return bool(target) and not target.startswith("/") and reached != ".." and not reached.startswith("../")
