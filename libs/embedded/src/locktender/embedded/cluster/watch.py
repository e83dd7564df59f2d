"""Watches: the changes of one kind from a version on, as a stream of events."""

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Iterator
from dataclasses import dataclass

from locktender.contracts.kernel.clock import Clock
from locktender.embedded.cluster.listoptions import check_list_options
from locktender.embedded.cluster.objects import Change, Store
from locktender.embedded.cluster.refusal import bad_request, expired
from locktender.embedded.cluster.request import is_on
from locktender.embedded.cluster.resources import Resource
from locktender.embedded.cluster.selectors import Selection
from locktender.embedded.cluster.shapes import Obj
from locktender.embedded.cluster.versions import as_served

DEFAULT_TIMEOUT = 1800.0
BOOKMARK_EVERY = 30.0


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a watcher asked for.

    Attributes:
        since: version after which changes count; None to begin with everything that is there.
        timeout: seconds after which the stream ends by itself.
        initial: whether the end of the first objects is marked by a bookmark (a "watch list").
    """

    resource: Resource
    namespace: str
    name: str
    matches: Selection
    since: int | None
    timeout: float
    bookmarks: bool
    initial: bool

    def sees(self, obj: Obj) -> bool:
        metadata = obj["metadata"]
        return (
            (not self.namespace or metadata.get("namespace") == self.namespace)
            and (not self.name or metadata.get("name") == self.name)
            and self.matches(obj)
        )


def wanted(resource: Resource, namespace: str, name: str, matches: Selection, query: dict[str, str]) -> Wanted:
    """Read the parameters of a watch.

    Raises:
        Refusal: 400 for a version or timeout that is no number, 422 for parameters that do not go together.
    """
    check_list_options(query, watching=True)
    version, timeout = query.get("resourceVersion", ""), query.get("timeoutSeconds", "")
    if timeout and not timeout.isdigit():
        raise bad_request(f"invalid timeoutSeconds: {timeout[:40]}")
    initial = is_on(query, "sendInitialEvents")
    return Wanted(
        resource,
        namespace,
        name,
        matches,
        since=None if initial or version in ("", "0") else int(version),
        timeout=float(timeout) if timeout else DEFAULT_TIMEOUT,
        bookmarks=is_on(query, "allowWatchBookmarks"),
        initial=initial,
    )


async def events(store: Store, clock: Clock, wish: Wanted, stop: asyncio.Event) -> AsyncGenerator[Obj, None]:
    """The events of a watch, until its timeout, `stop`, or an `ERROR` event when it fell behind the log.

    `stop` must be set for the stream to end early: it is looked at whenever the store changes or a bookmark is due.
    """
    since = store.version if wish.since is None else wish.since
    for event in _first(store, wish) if wish.since is None else ():
        yield event
    until = clock.monotonic() + wish.timeout
    changed = store.subscribe()
    try:
        while not stop.is_set():
            changed.clear()
            news = store.since(since)
            if news is None:
                yield {"type": "ERROR", "object": expired(since, store.version).status()}
                return
            for event in (event for change in news for event in _seen(wish, change)):
                yield _served(wish.resource, event)
            since = max(since, news[-1].version if news else since)
            left = until - clock.monotonic()
            if left <= 0:
                return
            if not await _wait(changed, min(left, BOOKMARK_EVERY)) and wish.bookmarks:
                since = max(since, store.version)
                yield _bookmark(wish.resource, since)
    finally:
        store.unsubscribe(changed)


def _first(store: Store, wish: Wanted) -> Iterator[Obj]:
    version = store.version
    # The list is complete before the first event leaves, so it is of one version.
    for obj in store.select(wish.resource.qualified, wish.namespace):
        if wish.sees(obj):
            yield _served(wish.resource, {"type": "ADDED", "object": obj})
    if wish.initial and wish.bookmarks:
        yield _bookmark(wish.resource, version, initial=True)


def _served(resource: Resource, event: Obj) -> Obj:
    return event | {"object": as_served(resource, event["object"])}


async def _wait(changed: asyncio.Event, seconds: float) -> bool:
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await changed.wait()
    return changed.is_set()


def _seen(wish: Wanted, change: Change) -> Iterator[Obj]:
    """What one change looks like through the selectors: entering them is a birth, leaving them a removal."""
    if change.key.kind != wish.resource.qualified:
        return
    was = change.before is not None and wish.sees(change.before)
    now = change.type != "DELETED" and wish.sees(change.after)
    if was and now:
        yield {"type": "MODIFIED", "object": change.after}
    elif now:
        yield {"type": "ADDED", "object": change.after}
    elif was:
        metadata = {**change.after["metadata"], "resourceVersion": str(change.version)}
        yield {"type": "DELETED", "object": {**change.after, "metadata": metadata}}


def _bookmark(resource: Resource, version: int, *, initial: bool = False) -> Obj:
    metadata: Obj = {"resourceVersion": str(version), "creationTimestamp": None}
    if initial:
        metadata["annotations"] = {"k8s.io/initial-events-end": "true"}
    return {
        "type": "BOOKMARK",
        "object": {"kind": resource.kind, "apiVersion": resource.api_version, "metadata": metadata},
    }
