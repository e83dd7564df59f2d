"""Objects of one kind found by a label, so that nobody need look at all of them."""

from locktender.embedded.cluster.objects import Change, Key, Store
from locktender.embedded.cluster.shapes import Obj, labels_of


class LabelIndex:
    """Follows a store. Answers are as the store is at the call."""

    def __init__(self, store: Store, kind: str) -> None:
        self._store = store
        self._kind = kind
        self._names: dict[tuple[str, str, object], set[str]] = {}
        for obj in store.select(kind):
            self._add(Key(kind, obj["metadata"].get("namespace", ""), obj["metadata"]["name"]), obj)
        store.listen(self._follow)

    def matching(self, namespace: str, labels: Obj) -> list[Obj]:
        """Objects of a namespace that carry all `labels`, by name; none for no labels."""
        sets = sorted((self._names.get((namespace, *pair), set()) for pair in labels.items()), key=len)
        names = set[str]().union(*sets[:1]).intersection(*sets[1:])
        found = (self._store.get(Key(self._kind, namespace, name)) for name in sorted(names))
        return [obj for obj in found if obj is not None]

    def _follow(self, change: Change) -> None:
        if change.key.kind != self._kind:
            return
        if (
            change.before is not None
            and change.type != "DELETED"
            and labels_of(change.before) == labels_of(change.after)
        ):
            return
        if change.before is not None:
            for pair in labels_of(change.before).items():
                names = self._names.get((change.key.namespace, *pair), set())
                names.discard(change.key.name)
                if not names:
                    self._names.pop((change.key.namespace, *pair), None)
        if change.type != "DELETED":
            self._add(change.key, change.after)

    def _add(self, key: Key, obj: Obj) -> None:
        for pair in labels_of(obj).items():
            self._names.setdefault((key.namespace, *pair), set()).add(key.name)
