"""Objects that select others by labels, found by the labels of the selected."""

from collections.abc import Iterable
from typing import TypeAlias

from locktender.embedded.cluster.objects import Change, Key
from locktender.embedded.cluster.shapes import Obj, obj_at

_Pair: TypeAlias = tuple[str, object]
_ANYBODY: _Pair = ("", "")


class SelectorIndex:
    """Knows the selectors of one kind by one pair of each; whoever finds a candidate still has to compare the rest.

    Args:
        kind: whose changes to follow.
        path: where the labels of the selector are.
        open_: whether an object without such labels may select anybody.
    """

    def __init__(self, kind: str, path: tuple[str, ...], *, open_: bool) -> None:
        self._kind = kind
        self._path = path
        self._open = open_
        self._names: dict[tuple[str, _Pair], set[str]] = {}

    def follow(self, change: Change) -> None:
        """Take a change of the kind into account."""
        for obj, present in ((change.before, False), (change.after, change.type != "DELETED")):
            pair = self._pair(obj) if obj is not None else None
            if pair is None:
                continue
            where = (change.key.namespace, pair)
            names = self._names.setdefault(where, set())
            if present:
                names.add(change.key.name)
            else:
                names.discard(change.key.name)
            if not names:
                self._names.pop(where, None)

    def _pair(self, obj: Obj) -> _Pair | None:
        pairs = sorted(obj_at(obj, *self._path).items())
        return pairs[0] if pairs else _ANYBODY if self._open else None

    def candidates(self, namespace: str, *labels: Obj) -> Iterable[Key]:
        """Those that may select an object with any of these labels, by name."""
        pairs: list[_Pair] = [_ANYBODY, *(pair for table in labels for pair in table.items())]
        empty: set[str] = set()
        names = {name for pair in pairs for name in self._names.get((namespace, pair), empty)}
        return [Key(self._kind, namespace, name) for name in sorted(names)]
