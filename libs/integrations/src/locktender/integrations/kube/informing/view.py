"""What one who looks sees."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from types import MappingProxyType
from typing import TypeAlias

from locktender.integrations.kube.errors import KubeError
from locktender.integrations.kube.informing.interest import Interest
from locktender.integrations.kube.json_value import JsonObject


class Sure(Enum):
    """How far what a view shows can be relied on, where nothing is wrong."""

    LOADING = "loading"
    """Nothing is known yet."""
    KNOWN = "known"
    """All is known, as of a moment ago."""


@dataclass(frozen=True, slots=True)
class Lost:
    """The cluster does not answer: what a view shows was true once. It heals by itself."""

    since: datetime
    error: KubeError


@dataclass(frozen=True, slots=True)
class Refused:
    """The cluster refuses to list this, or does not know it. The view is never filled; ask in another way."""

    error: KubeError


Standing: TypeAlias = Sure | Lost | Refused


class View:
    """The objects of one interest, by name, without what only the cluster's own bookkeeping needs.

    `on_change` is called from the loop whenever `objects` or `standing` changed. Objects are shared: do not change
    them. Close it when done, or leave that to the block that it was opened in.
    """

    def __init__(self, interest: Interest, on_change: Callable[[], None], close: Callable[["View"], None]) -> None:
        self.interest = interest
        self.joining = True
        self._objects: dict[str, JsonObject] = {}
        self._standing: Standing = Sure.LOADING
        self._on_change = on_change
        self._close = close

    @property
    def objects(self) -> Mapping[str, JsonObject]:
        """What is there, as far as `standing` says."""
        return MappingProxyType(self._objects)

    @property
    def standing(self) -> Standing:
        return self._standing

    def close(self) -> None:
        """Look no more. Again is harmless."""
        self._on_change = _nobody
        self._close(self)

    def put(self, name: str, body: JsonObject, *, quiet: bool = False) -> None:
        """Show an object; with `quiet`, one that says no more than before. For the cache alone, as all below."""
        before = self._objects.get(name)
        if before is not body:
            self._objects[name] = body
            if before is None or not quiet:
                self._on_change()

    def drop(self, name: str) -> None:
        """Show an object no more."""
        if self._objects.pop(name, None) is not None:
            self._on_change()

    def stands(self, standing: Standing) -> None:
        """Say how things stand."""
        if standing != self._standing:
            self._standing = standing
            self._on_change()


def _nobody() -> None:
    pass
