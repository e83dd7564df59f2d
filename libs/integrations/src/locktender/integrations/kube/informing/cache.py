"""The objects of one kind and namespace that somebody looks at, kept right by lists and changes in any order."""

from collections.abc import Collection, Generator, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from locktender.integrations.kube.informing.interest import Scope, Token, name_of, tokens_of
from locktender.integrations.kube.informing.view import Standing, Sure, View
from locktender.integrations.kube.json_value import JsonObject, as_object, as_text

_LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
_SAID = ("type", "reason", "message")
EVERYTHING = Scope()
"""All of a namespace."""


class Load:
    """A list under way, and what changed meanwhile: a change that is newer than the list wins over it."""

    def __init__(self, joining: Collection[View]) -> None:
        self.joining = joining
        self.touched: dict[str, int] = {}

    def overtook(self, name: str, version: str) -> bool:
        """Whether an object changed meanwhile, after the list of `version` was made."""
        return self.touched.get(name, -1) > _number(version)


@dataclass(slots=True)
class _Entry:
    body: JsonObject
    views: list[View]


class Cache:
    """Keeps an object as long as a view wants it. Nothing here awaits, so every call is atomic."""

    def __init__(self) -> None:
        self._views: dict[Token, list[View]] = {}
        self._entries: dict[str, _Entry] = {}
        self._loads: list[Load] = []

    def __len__(self) -> int:
        return len(self._entries)

    @property
    def views(self) -> Iterator[View]:
        """Everybody who looks."""
        for views in self._views.values():
            yield from views

    @property
    def joining(self) -> list[View]:
        """Who has not been served yet."""
        return [view for view in self.views if view.joining]

    @property
    def scope(self) -> Scope:
        """The narrowest request that serves everybody."""
        scopes = {view.interest.scope for view in self.views}
        return scopes.pop() if len(scopes) == 1 else EVERYTHING

    def join(self, view: View) -> None:
        """Let somebody look."""
        self._views.setdefault(view.interest.token, []).append(view)
        for name, entry in self._entries.items():
            if view.interest.wants(entry.body):
                entry.views.append(view)
                view.put(name, entry.body)

    def leave(self, view: View) -> None:
        """Let somebody go, and forget what was kept for them alone."""
        views = self._views.get(view.interest.token, [])
        if view not in views:
            return
        views.remove(view)
        if not views:
            del self._views[view.interest.token]
        for name in tuple(view.objects):
            entry = self._entries[name]
            entry.views.remove(view)
            if not entry.views:
                del self._entries[name]

    def stand(self, standing: Standing) -> None:
        """Tell everybody how things stand; those who were not served yet learn of bad news alone."""
        for view in tuple(self.views):
            if not (view.joining and isinstance(standing, Sure)):
                view.stands(standing)

    def pick(self, body: JsonObject) -> JsonObject | None:
        """What is kept of an object; None when nobody wants it."""
        return _trimmed(body) if any(self._wanting(body)) else None

    @contextmanager
    def loading(self) -> Generator[Load]:
        """Note what changes while a list is under way."""
        load = Load(self.joining)
        self._loads.append(load)
        try:
            yield load
        finally:
            self._loads.remove(load)

    def changed(self, body: JsonObject) -> None:
        """Take in an object that was added or modified."""
        name = name_of(body)
        self._touch(name, body)
        if not self._older(name, body):
            self._put(name, body, trim=True)

    def deleted(self, body: JsonObject) -> None:
        """Take in that an object is gone."""
        name = name_of(body)
        self._touch(name, body)
        if not self._older(name, body):
            self._remove(name)

    def replace(self, load: Load, items: Iterable[JsonObject], version: str) -> bool:
        """Take in a full list of `version`. Whether it brought anything that no change had told of.

        It is believed even where it shows an older object, unless that changed while the list was under way.
        """
        listed = {name_of(item): item for item in items}
        stale = [name for name in self._entries if name not in listed and not load.overtook(name, version)]
        fresh = [name for name in listed if not load.overtook(name, version)]
        news = [name for name in fresh if self._put(name, listed[name])]
        for name in stale:
            self._remove(name)
        self._served(load.joining)
        return bool(stale or news)

    def add(self, load: Load, items: Iterable[JsonObject]) -> None:
        """Take in all objects that those want who joined."""
        for item in items:
            name = name_of(item)
            if name not in load.touched and not self._older(name, item):
                self._put(name, item)
        self._served(load.joining)

    def _served(self, views: Collection[View]) -> None:
        for view in views:
            view.joining = False
        self.stand(Sure.KNOWN)

    def _touch(self, name: str, body: JsonObject) -> None:
        for load in self._loads:
            load.touched[name] = _number(version_of(body))

    def _older(self, name: str, body: JsonObject) -> bool:
        """Whether something newer is kept already."""
        entry = self._entries.get(name)
        return entry is not None and 0 < _number(version_of(body)) < _number(version_of(entry.body))

    def _put(self, name: str, body: JsonObject, *, trim: bool = False) -> bool:
        """Keep an object for those who want it. Whether it was news."""
        entry = self._entries.get(name)
        known = entry is not None and version_of(entry.body) == version_of(body) != ""
        wanting = list(self._wanting(body))
        if not wanting:
            self._remove(name)
            return False
        if entry is None:
            entry = self._entries[name] = _Entry(body, [])
        quiet = known or _repeats(entry.body, body)
        if not known:
            entry.body = _trimmed(body) if trim else body
        before, entry.views = entry.views, wanting
        for view in before:
            if view not in wanting:
                view.drop(name)
        for view in wanting:
            view.put(name, entry.body, quiet=quiet)
        return not known

    def _remove(self, name: str) -> None:
        entry = self._entries.pop(name, None)
        for view in entry.views if entry is not None else ():
            view.drop(name)

    def _wanting(self, body: JsonObject) -> Iterator[View]:
        for token in tokens_of(body):
            for view in self._views.get(token, ()):
                if view.interest.wants(body):
                    yield view


def version_of(body: JsonObject) -> str:
    """`metadata.resourceVersion`."""
    return as_text(as_object(body.get("metadata")).get("resourceVersion"))


def _number(version: str) -> int:
    """A version as the number that it is in every cluster so far; 0 for another, which then decides nothing."""
    return int(version) if version.isascii() and version.isdigit() else 0


def _repeats(old: JsonObject, new: JsonObject) -> bool:
    """Whether an event says once more what it said before. Some are counted up every few seconds, for ever."""
    return old is not new and bool(new.get("involvedObject")) and all(old.get(each) == new.get(each) for each in _SAID)


def _trimmed(body: JsonObject) -> JsonObject:
    metadata: JsonObject = {
        key: value for key, value in as_object(body.get("metadata")).items() if key != "managedFields"
    }
    annotations = as_object(metadata.get("annotations"))
    if _LAST_APPLIED in annotations:
        metadata["annotations"] = {key: value for key, value in annotations.items() if key != _LAST_APPLIED}
    return {**body, "metadata": metadata}
