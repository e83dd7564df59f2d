"""A folder to the templates in it. Blocking; every read is bounded, and no link is followed."""

import os
import re
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from locktender.integrations.templates.faults import TemplateFault
from locktender.integrations.templates.package import (
    LARGEST,
    MOST_FILES,
    NOTHING,
    TEMPLATE_FILES,
    Package,
    is_meant_as_template,
    read_package,
)

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_ENDINGS = (".yaml", ".yml")
_MOST_ENTRIES, _DEEPEST, _MOST_LISTED = 2_000, 12, 2_000

Known = dict[str, tuple[tuple[object, ...], Package | TemplateFault]]
"""What each name was when it was last read, with what told its state on disk then."""


@dataclass(slots=True)
class _Budget:
    left: int

    def take(self, size: int) -> None:
        self.left -= size
        if self.left < 0:
            raise TemplateFault("catalogue-too-large", "the templates are larger than the setting max_bytes allows")


def shelved(root: Path, most_bytes: int, known: Known) -> Known:
    """Every template straight inside of `root`, read anew only where it is not as it was in `known`.

    A template is a folder, or a YAML file. One that cannot be read, or is a link, is there with its fault.

    Raises:
        OSError: `root` cannot be listed.
        TemplateFault: all of it is too large.
    """
    budget = _Budget(most_bytes)
    found: Known = {}
    for name, paths in _named(root):
        marks = tuple(mark for path in paths for mark in _marks(path))
        before = known.get(name)
        if before is not None and before[0] == marks:
            found[name] = before
        else:
            found[name] = (marks, _read(name, paths))
        package = found[name][1]
        if isinstance(package, TemplateFault):
            if package.code == NOTHING and not _looks_meant(paths[0]):
                del found[name]
        else:
            budget.take(sum(map(len, package.files.values())))
    return found


def _named(root: Path) -> Iterator[tuple[str, list[Path]]]:
    """The names of templates, each with what stands for it; more than one is one too many."""
    names: dict[str, list[Path]] = {}
    with os.scandir(root) as entries:
        for count, entry in enumerate(entries):
            if count >= _MOST_ENTRIES:
                told = f"there are more than {_MOST_ENTRIES} files and folders in the catalogue"
                raise TemplateFault("catalogue-too-large", told)
            stem, ending = os.path.splitext(entry.name)  # noqa: PTH122 - a name, not a path
            if entry.name.startswith("."):
                continue
            if entry.is_dir(follow_symlinks=False):
                names.setdefault(entry.name, []).append(Path(entry.path))
            elif ending in _ENDINGS or entry.is_symlink():
                names.setdefault(stem if ending in _ENDINGS else entry.name, []).append(Path(entry.path))
    yield from sorted(names.items())


def _read(name: str, paths: list[Path]) -> Package | TemplateFault:
    try:
        path = _usable(name, paths)
        return _of_folder(path, name) if path.is_dir() else read_package({path.name: _text(path) or ""}, name=name)
    except TemplateFault as fault:
        return TemplateFault(fault.code, fault.problem, fault.line)
    except OSError as error:
        return TemplateFault("unreadable", f"it cannot be read ({error.strerror})")


def _usable(name: str, paths: list[Path]) -> Path:
    """What stands for a name, if it is one thing that may be read."""
    if len(paths) > 1:
        raise TemplateFault("ambiguous", "there is a folder and a file, or two files, of this name; keep one")
    if not _NAME.fullmatch(name):
        raise TemplateFault("bad-name", "a name is letters, digits, dots, dashes and underscores, at most 100")
    if paths[0].is_symlink():
        raise _link(paths[0].name)
    return paths[0]


def _link(name: str) -> TemplateFault:
    return TemplateFault("link", f"{_shown(name)} is a link, and links are not followed; put the files here")


def _of_folder(path: Path, name: str) -> Package:
    for file in TEMPLATE_FILES:
        # The rest of such a folder, pictures and all, takes no part in rendering and is not read.
        if (path / file).is_symlink() or (path / file).is_file():
            text = _text(path / file) or ""
            if is_meant_as_template(text):
                return read_package({file: text}, name=name)
    return read_package(dict(_files(path)), name=name)


def _looks_meant(path: Path) -> bool:
    """Whether a folder without a template was meant to have one. Others, such as documentation, are passed over."""
    with os.scandir(path) as entries:
        return any(entry.name.endswith(_ENDINGS) for entry in entries)


def _files(root: Path) -> Iterator[tuple[str, str]]:
    """The text files below `root`, by path; binary ones, such as logos, are left out."""
    count, size = 0, 0
    for path in _below(root):
        text = _text(path)
        if text is None:
            continue
        count, size = count + 1, size + len(text)
        if count > MOST_FILES or size > LARGEST:
            raise TemplateFault("too-large", f"there are more than {MOST_FILES} files or {LARGEST} bytes")
        yield path.relative_to(root).as_posix(), text


def _below(root: Path) -> Iterator[Path]:
    listed = 0
    waiting = [(root, 0)]
    while waiting:
        folder, depth = waiting.pop()
        with os.scandir(folder) as entries:
            found = sorted(entries, key=lambda entry: entry.name)
        for entry in found:
            listed += 1
            if listed > _MOST_LISTED or depth > _DEEPEST:
                raise TemplateFault("too-large", "there are too many files, or they are too deep")
            if entry.is_symlink():
                raise _link(entry.name)
            if entry.is_dir(follow_symlinks=False):
                if entry.name != ".git":
                    waiting.append((Path(entry.path), depth + 1))
            elif entry.is_file(follow_symlinks=False):
                yield Path(entry.path)


def _text(path: Path) -> str | None:
    """The text of a file, never through a link; None if it is none."""
    if path.is_symlink():
        raise _link(path.name)
    handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    with os.fdopen(handle, "rb") as file:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise TemplateFault("no-file", f"{_shown(path.name)} is no plain file")
        data = file.read(LARGEST + 1)
    if b"\0" in data:
        return None
    if len(data) > LARGEST:
        raise TemplateFault("too-large", f"{_shown(path.name)} has more than {LARGEST} bytes")
    try:
        return data.decode()
    except UnicodeDecodeError:
        return None


def _marks(path: Path) -> Iterator[object]:
    """What changes when anything at or below `path` does."""
    try:
        found = path.lstat()
        yield from (str(path), found.st_mode, found.st_size, found.st_mtime_ns, found.st_ino)
        if stat.S_ISDIR(found.st_mode):
            for below in _below(path):
                found = below.lstat()
                yield from (str(below), found.st_size, found.st_mtime_ns, found.st_ino)
    except (OSError, TemplateFault) as error:
        yield str(error)


def _shown(name: str) -> str:
    return "".join(c if c.isprintable() else "?" for c in name[:80])
