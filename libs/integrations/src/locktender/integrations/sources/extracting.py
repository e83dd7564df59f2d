"""An archive from outside, written out only if it is the one that was named and holds nothing but files and links."""

import gzip
import hashlib
import hmac
import io
import os
import shutil
import stat
import tarfile
import tempfile
import zlib
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import IO

from locktender.integrations.machine.threads import in_thread
from locktender.integrations.sources.archive_limits import ArchiveLimits
from locktender.integrations.sources.errors import ArchiveRefused, DigestMismatch, SourceUnavailable
from locktender.integrations.sources.packing import stays_inside

_NORMAL = ArchiveLimits()
_LONGEST_NAME = 1_024
_CHUNK = 65_536


async def extract(data: bytes, sha256: str, directory: Path, limits: ArchiveLimits = _NORMAL) -> None:
    """Write the files of a tar.gz into `directory`, which is new or empty, and whose parent exists.

    The SHA-256 (hex) is compared before a byte is unpacked. `directory` appears with all files at once: whatever
    happens before, a crash included, it does not hold a part of them (a crash leaves a hidden
    folder beside it). Files and folders are for this user alone; of
    modes only the executable bit is kept, and nothing of owners and times.

    Raises:
        DigestMismatch: the bytes are others than were named.
        ArchiveRefused: it is no tar.gz, above a limit, or holds a name or link that leads out, a hard link, a device,
            a name twice or a `.git`.
        SourceUnavailable: the files cannot be written.
    """
    work: Callable[[], None] = partial(_extract, data, sha256, directory, limits)
    await in_thread(work)


def _extract(data: bytes, sha256: str, directory: Path, limits: ArchiveLimits) -> None:
    if not hmac.compare_digest(hashlib.sha256(data).hexdigest().encode(), sha256.lower().encode()):
        raise DigestMismatch
    if len(data) > limits.packed_bytes:
        raise ArchiveRefused(f"the archive is larger than {limits.packed_bytes} bytes")
    try:
        staged = Path(tempfile.mkdtemp(prefix=f".{directory.name}-", dir=directory.parent))
        try:
            _unpack(data, staged, limits)
            staged.replace(directory)
        finally:
            shutil.rmtree(staged, ignore_errors=True)
    except OSError as error:
        raise SourceUnavailable(f"the archive cannot be written out ({error.strerror})") from error


def _unpack(data: bytes, root: Path, limits: ArchiveLimits) -> None:
    links: dict[str, str] = {}
    try:
        with tempfile.TemporaryFile(dir=root.parent) as unzipped:
            _unzip(data, unzipped, limits.bytes)
            stream = _Careful(unzipped.fileno(), closefd=False)
            with tarfile.open(fileobj=stream, mode="r:", errors="strict", encoding="utf-8") as tar:
                for number, member in enumerate(tar, start=1):
                    if number > limits.entries:
                        raise ArchiveRefused(f"the archive has more than {limits.entries} entries")
                    _write(tar, member, root, links)
    except (tarfile.TarError, zlib.error, EOFError, gzip.BadGzipFile, ValueError, RecursionError) as error:
        raise ArchiveRefused("this is not a whole tar.gz archive") from error
    _link(root, links)


def _unzip(data: bytes, file: IO[bytes], most: int) -> None:
    with gzip.GzipFile(fileobj=io.BytesIO(data)) as zipped:
        while chunk := zipped.read(_CHUNK):
            most -= len(chunk)
            if most < 0:
                raise ArchiveRefused("the archive unpacks to more bytes than are allowed")
            file.write(chunk)
    file.seek(0)


def _link(root: Path, links: dict[str, str]) -> None:
    """Make the symbolic links, last, so that nothing is ever written through one; then see where they lead."""
    for name, target in links.items():
        _make_folders(root, name)
        try:
            (root / name).symlink_to(target)
        except FileExistsError:
            raise _twice(name) from None
    inside = os.path.realpath(root)
    for name in links:
        if os.path.commonpath((inside, os.path.realpath(root / name))) != inside:
            raise _leaving(name)


def _write(tar: tarfile.TarFile, member: tarfile.TarInfo, root: Path, links: dict[str, str]) -> None:
    name = _checked(member.name)
    if name == ".":
        return
    if member.isdir():
        _make_folders(root, f"{name}/")
    elif member.issym():
        if name in links:
            raise _twice(name)
        if not stays_inside(name, member.linkname):
            raise _leaving(name)
        links[name] = member.linkname
    elif member.isreg() and not member.issparse():
        _write_file(tar, member, root, name)
    else:
        raise ArchiveRefused(f"{name} is neither a file, a folder nor a symbolic link")


def _write_file(tar: tarfile.TarFile, member: tarfile.TarInfo, root: Path, name: str) -> None:
    content = tar.extractfile(member)
    if content is None:
        raise ArchiveRefused(f"{name} has no content")
    _make_folders(root, name)
    try:
        handle = os.open(root / name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    except FileExistsError:
        raise _twice(name) from None
    with os.fdopen(handle, "wb") as file, content:
        shutil.copyfileobj(content, file, _CHUNK)
        os.fchmod(handle, 0o700 if member.mode & stat.S_IXUSR else 0o600)


def _twice(name: str) -> ArchiveRefused:
    return ArchiveRefused(f"{name} is in the archive twice")


def _leaving(name: str) -> ArchiveRefused:
    return ArchiveRefused(f"the link {name} leads out of the archive")


def _checked(name: str) -> str:
    plain = os.path.normpath(name)
    parts = name.split("/")
    if not name or len(name) > _LONGEST_NAME or not name.isprintable() or name.startswith("/") or ".." in parts:
        raise ArchiveRefused("the archive holds a name that leads out of it, or that cannot be shown")
    if any(part.lower() == ".git" for part in parts):
        raise ArchiveRefused("the archive holds a folder .git; pack the files alone")
    return plain


def _make_folders(root: Path, name: str) -> None:
    folder = root
    for part in name.split("/")[:-1]:
        folder /= part
        with suppress(FileExistsError):
            folder.mkdir(0o700)
        if folder.is_symlink() or not folder.is_dir():
            raise ArchiveRefused(f"{name} is in the archive both as a folder and as something else")


class _Careful(io.FileIO):
    """A file of which nothing is read at once that is larger than a chunk, as headers could claim to be."""

    def read(self, size: int | None = -1, /) -> bytes:
        if size is None or not 0 <= size <= _CHUNK:
            raise ArchiveRefused("the archive has headers that are larger than is allowed")
        return super().read(size)
