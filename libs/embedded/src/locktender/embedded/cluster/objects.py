"""The stored objects and the log of what happened to them.

Everything runs on one event loop and no call here awaits, so each call is atomic. Versions rise by one with every
change, over all kinds. The log is bounded: a reader that asks for something older is told so.
"""

import asyncio
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from locktender.embedded.cluster.shapes import Obj, name_of, namespace_of, objs_at, text_at, uid_of

LOG_LIMIT = 20_000


@dataclass(frozen=True, slots=True)
class Key:
    """Identity of an object: the kind as `deployments.apps`, "" as namespace when it has none."""

    kind: str
    namespace: str
    name: str


@dataclass(frozen=True, slots=True)
class Change:
    """One entry of the log. `before` is None for a birth; `after` of a removal is its last state."""

    version: int
    type: Literal["ADDED", "MODIFIED", "DELETED"]
    key: Key
    before: Obj | None
    after: Obj


class Store:
    """All objects of the cluster, in memory.

    Args:
        first: version to count from. A store that replaces another must begin above it, so that whoever goes on from
            a version of the other is told that it is too old.
        log_limit: changes to remember.
    """

    def __init__(self, first: int = 1000, *, log_limit: int = LOG_LIMIT) -> None:
        self.version = first
        self._log_limit = log_limit
        self._log: list[Change] = []
        self._compacted = first
        self._objects: dict[str, dict[tuple[str, str], Obj]] = {}
        self._dependents: dict[str, set[Key]] = {}
        self._listeners: list[Callable[[Change], None]] = []
        self._waiting: set[asyncio.Event] = set()

    def listen(self, listener: Callable[[Change], None]) -> None:
        """Call `listener` synchronously after every change, for as long as the store lives."""
        self._listeners.append(listener)

    def get(self, key: Key) -> Obj | None:
        return self._objects.get(key.kind, {}).get((key.namespace, key.name))

    def select(self, kind: str, namespace: str = "") -> list[Obj]:
        """Objects of a kind by namespace and name; all namespaces for ""."""
        rows = self._objects.get(kind, {})
        return [obj for (where, _), obj in sorted(rows.items()) if not namespace or where == namespace]

    def count(self, kind: str) -> int:
        return len(self._objects.get(kind, {}))

    def content(self, namespace: str) -> Iterator[Key]:
        """Keys of everything that lives in a namespace."""
        for kind, rows in tuple(self._objects.items()):
            for where, name in sorted(rows):
                if where == namespace:
                    yield Key(kind, where, name)

    def dependents(self, uid: str) -> list[Key]:
        """Keys of the objects that name `uid` as an owner, in a stable order."""
        return sorted(self._dependents.get(uid, ()), key=lambda k: (k.kind, k.namespace, k.name))

    def exists(self, uid: str, kind: str, namespace: str, name: str) -> bool:
        found = self.get(Key(kind, namespace, name))
        return found is not None and uid_of(found) == uid

    def put(self, kind: str, obj: Obj) -> Obj:
        """Store `obj` under its next version and tell everybody. The caller gives the object away."""
        key = Key(kind, namespace_of(obj), name_of(obj))
        before = self.get(key)
        self.version += 1
        obj["metadata"]["resourceVersion"] = str(self.version)
        self._objects.setdefault(kind, {})[key.namespace, key.name] = obj
        self._unlink(key, before)
        self._link(key, obj)
        self._record(Change(self.version, "ADDED" if before is None else "MODIFIED", key, before, obj))
        return obj

    def remove(self, key: Key) -> None:
        """Forget an object; a missing one is no error."""
        before = self._objects.get(key.kind, {}).pop((key.namespace, key.name), None)
        if before is None:
            return
        self._unlink(key, before)
        self.version += 1
        last = {**before, "metadata": {**before["metadata"], "resourceVersion": str(self.version)}}
        self._record(Change(self.version, "DELETED", key, before, last))

    def since(self, version: int) -> list[Change] | None:
        """Changes after `version`, oldest first; None for a version that the log does not reach (back or yet)."""
        if not self._compacted <= version <= self.version:
            return None
        return self._log[bisect_right(self._log, version, key=lambda change: change.version) :]

    def compact(self) -> int:
        """Drop the whole log, as a real cluster does after a while. Returns the oldest version still readable."""
        self._log.clear()
        self._compacted = self.version
        self.wake()
        return self._compacted

    def subscribe(self) -> asyncio.Event:
        """An event that is set on every change, until `unsubscribe`."""
        waiting = asyncio.Event()
        self._waiting.add(waiting)
        return waiting

    def unsubscribe(self, waiting: asyncio.Event) -> None:
        self._waiting.discard(waiting)

    def everything(self) -> Iterator[tuple[str, Obj]]:
        """Every object with its kind. The store must not change while the caller goes through them."""
        for kind, rows in self._objects.items():
            for obj in rows.values():
                yield kind, obj

    def restore(self, version: int, objects: Iterable[tuple[str, Obj]]) -> None:
        """Hold exactly these objects, as of `version`, and no log. Nobody is told: do it before anybody listens."""
        self.version = self._compacted = version
        self._log.clear()
        self._objects.clear()
        self._dependents.clear()
        for kind, obj in objects:
            key = Key(kind, namespace_of(obj), name_of(obj))
            self._objects.setdefault(kind, {})[key.namespace, key.name] = obj
            self._link(key, obj)

    def clear(self) -> None:
        """Remove every object one by one, so that watchers see it."""
        for kind, rows in tuple(self._objects.items()):
            for namespace, name in sorted(rows):
                self.remove(Key(kind, namespace, name))

    def _record(self, change: Change) -> None:
        self._log.append(change)
        if len(self._log) > self._log_limit:
            # Half at once: trimming one entry at a time would copy the list with every change.
            dropped = len(self._log) // 2
            self._compacted = self._log[dropped - 1].version
            del self._log[:dropped]
        for listener in self._listeners:
            listener(change)
        self.wake()

    def wake(self) -> None:
        """Let every subscriber look again."""
        for waiting in self._waiting:
            waiting.set()

    def _link(self, key: Key, obj: Obj) -> None:
        for owner in objs_at(obj, "metadata", "ownerReferences"):
            self._dependents.setdefault(text_at(owner, "uid"), set()).add(key)

    def _unlink(self, key: Key, obj: Obj | None) -> None:
        for owner in objs_at(obj, "metadata", "ownerReferences"):
            uid = text_at(owner, "uid")
            self._dependents.get(uid, set()).discard(key)
            if not self._dependents.get(uid):
                self._dependents.pop(uid, None)
