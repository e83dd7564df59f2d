"""Keeps the registry of served kinds in step with the stored definitions."""

from locktender.embedded.cluster.crds.definition import CRDS, is_established, resources_of
from locktender.embedded.cluster.objects import Change, Store
from locktender.embedded.cluster.resources import Registry
from locktender.embedded.cluster.shapes import Obj, name_of


class CustomKinds:
    """Serves the kinds of established definitions, from the moment at which they are stored as such."""

    def __init__(self, store: Store, registry: Registry) -> None:
        self._store = store
        self._registry = registry
        store.listen(self._follow)

    def refresh(self) -> None:
        """Serve what the stored definitions say, after a store was filled without telling its listeners."""
        for crd in self._store.select(CRDS):
            self._serve(crd)

    def _follow(self, change: Change) -> None:
        if change.key.kind != CRDS:
            return
        if change.type == "DELETED":
            self._registry.drop(change.key.name)
        else:
            self._serve(change.after)

    def _serve(self, crd: Obj) -> None:
        if not is_established(crd):
            return
        self._registry.drop(name_of(crd))
        for resource in resources_of(crd):
            self._registry.add(resource)
