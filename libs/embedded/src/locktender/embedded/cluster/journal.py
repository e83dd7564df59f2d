"""The objects of a cluster on disk, so that it goes on where it was when its process is killed.

One file holds a snapshot and then one line for each change, written before anybody is told of the change. What was
acknowledged survives the end of the process, however it ends. The disk is not waited for (`fsync`) with each change,
only when a snapshot is made: after a power failure of the machine the last seconds may be missing. The file is
rewritten as a new snapshot when it has grown by more than its own size and a fixed amount. When the disk does not take
a change, the cluster says so in its log and goes on; the next change is saved together with everything else.
"""

import json
import logging
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from locktender.contracts.kernel.errors import LocktenderError
from locktender.embedded.cluster.objects import Change, Store
from locktender.embedded.cluster.shapes import Obj, is_obj

_FORMAT = 1
_SLACK = 16 * 1024 * 1024
_CHUNK = 256 * 1024
_log = logging.getLogger(__name__)


class JournalDamaged(LocktenderError):
    """The saved objects cannot be read."""

    def __init__(self, file: Path, line: int) -> None:
        super().__init__(f"{file} is damaged at line {line}; move it away to begin with an empty cluster")


@dataclass(frozen=True, slots=True)
class Saved:
    """The objects of an earlier life, with their kinds, and the version it had come to."""

    version: int
    objects: list[tuple[str, Obj]]


class Journal:
    """The file of one cluster. Used by one process at a time, from one thread."""

    def __init__(self, file: Path, *, slack: int = _SLACK) -> None:
        self._file = file
        self._slack = slack
        self._handle = -1
        self._size = 0
        self._limit = 0
        self._store: Store | None = None

    def load(self) -> Saved | None:
        """What was saved; None when nothing was. A last line that was cut short counts as not written.

        Raises:
            JournalDamaged: a line before the last is not what this class writes.
        """
        if not self._file.exists():
            return None
        version = 0
        objects: dict[tuple[str, str, str], Obj] = {}
        for number, entry in self._entries():
            try:
                version = max(version, entry["version"])
                if "kind" in entry:
                    key = (entry["kind"], entry["namespace"], entry["name"])
                    if entry.get("object") is None:
                        objects.pop(key, None)
                    else:
                        objects[key] = entry["object"]
            except (KeyError, TypeError):
                raise JournalDamaged(self._file, number) from None
        return Saved(version, [(kind, obj) for (kind, _, _), obj in objects.items()])

    def _entries(self) -> Iterator[tuple[int, dict[str, Any]]]:
        with self._file.open("rb") as lines:
            for number, line in enumerate(lines, 1):
                if not line.endswith(b"\n"):
                    return
                try:
                    entry: object = json.loads(line)
                except ValueError:
                    raise JournalDamaged(self._file, number) from None
                if not is_obj(entry):
                    raise JournalDamaged(self._file, number)
                yield number, entry

    def follow(self, store: Store) -> None:
        """Save everything that a store holds now, and from now on each of its changes, until `close`.

        Raises:
            OSError: the file cannot be written.
        """
        self._store = store
        self._snapshot(store)
        store.listen(self._append)

    def close(self) -> None:
        """Stop saving. What was saved stays."""
        self._store = None
        if self._handle >= 0:
            os.close(self._handle)
            self._handle = -1

    def _append(self, change: Change) -> None:
        store = self._store
        if store is None:
            return
        if self._handle < 0 or self._size > self._limit:
            self._try(lambda: self._snapshot(store))
            return
        line = _line(change.version, change.key.kind, change.after, gone=change.type == "DELETED")
        self._try(lambda: self._write(self._handle, line))

    def _try(self, work: Callable[[], None]) -> None:
        try:
            work()
        except OSError as fault:
            # The next change tries with a whole snapshot, because part of a line may be in the file.
            _log.error("the objects of the sandbox cluster cannot be saved: %s", fault.strerror)
            if self._handle >= 0:
                os.close(self._handle)
                self._handle = -1

    def _write(self, handle: int, raw: bytes) -> None:
        self._size += len(raw)
        while raw:
            raw = raw[os.write(handle, raw) :]

    def _snapshot(self, store: Store) -> None:
        fresh = self._file.with_name(f".{self._file.name}.new")
        fresh.unlink(missing_ok=True)
        handle = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_APPEND, 0o600)
        self._size = 0
        try:
            batch = bytearray(json.dumps({"format": _FORMAT, "version": store.version}).encode() + b"\n")
            for kind, obj in store.everything():
                batch += _line(store.version, kind, obj, gone=False)
                if len(batch) > _CHUNK:
                    self._write(handle, bytes(batch))
                    batch.clear()
            self._write(handle, bytes(batch))
            os.fsync(handle)
            fresh.replace(self._file)
        except OSError:
            os.close(handle)
            raise
        if self._handle >= 0:
            os.close(self._handle)
        self._handle = handle
        self._limit = 2 * self._size + self._slack


def _line(version: int, kind: str, obj: Obj, *, gone: bool) -> bytes:
    metadata = obj["metadata"]
    entry: dict[str, object] = {
        "version": version,
        "kind": kind,
        "namespace": metadata.get("namespace", ""),
        "name": metadata["name"],
    }
    if not gone:
        entry["object"] = obj
    return json.dumps(entry, separators=(",", ":"), ensure_ascii=False).encode() + b"\n"
