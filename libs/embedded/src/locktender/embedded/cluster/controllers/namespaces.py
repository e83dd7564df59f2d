"""Namespaces get their standard content, and take it with them when they go."""

from collections.abc import Iterable

from locktender.embedded.cluster.controllers.plane import Plane
from locktender.embedded.cluster.deletion import Options, delete
from locktender.embedded.cluster.objects import Change, Key
from locktender.embedded.cluster.shapes import is_going


class NamespaceController:
    def __init__(self, plane: Plane) -> None:
        self._plane = plane

    def keys(self, change: Change) -> Iterable[Key]:
        if change.key.kind == "namespaces":
            return [change.key]
        # The last object to leave lets a going namespace go.
        return [Key("namespaces", "", change.key.namespace)] if change.type == "DELETED" else []

    def reconcile(self, key: Key) -> float | None:
        namespace = self._plane.get("namespaces", "", key.name)
        if namespace is None:
            return None
        if not is_going(namespace):
            self._furnish(key.name)
            return None
        cluster = self._plane.cluster
        for inside in list(cluster.store.content(key.name)):
            if cluster.store.get(inside) is not None:
                delete(cluster.writer, cluster.registry.named(inside.kind), inside, Options(grace=0))
        if not any(cluster.store.content(key.name)):
            cluster.store.remove(key)
        return None

    def _furnish(self, name: str) -> None:
        if self._plane.get("serviceaccounts", name, "default") is None:
            self._plane.create("serviceaccounts", name, {"metadata": {"name": "default"}})
        if self._plane.get("configmaps", name, "kube-root-ca.crt") is None:
            body = {"metadata": {"name": "kube-root-ca.crt"}, "data": {"ca.crt": ""}}
            self._plane.create("configmaps", name, body)
