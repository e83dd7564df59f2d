"""APIServices are available when what serves them is there."""

from collections.abc import Iterable

from locktender.embedded.cluster.controllers.plane import Plane, conditioned
from locktender.embedded.cluster.controllers.script import word
from locktender.embedded.cluster.objects import Change, Key
from locktender.embedded.cluster.shapes import Obj, is_going, name_of, obj_at, objs_at, text_at

KIND = "apiservices.apiregistration.k8s.io"


class ApiServiceController:
    def __init__(self, plane: Plane) -> None:
        self._plane = plane

    def keys(self, change: Change) -> Iterable[Key]:
        if change.key.kind == KIND:
            return [] if change.type == "DELETED" else [change.key]
        if change.key.kind not in ("services", "endpoints"):
            return []
        return [Key(KIND, "", name_of(row)) for row in self._plane.cluster.store.select(KIND) if _uses(row, change.key)]

    def reconcile(self, key: Key) -> float | None:
        found = self._plane.get(KIND, "", key.name)
        if found is None or is_going(found):
            return None
        status, reason, message = self._verdict(found)
        entry: Obj = {"type": "Available", "status": status, "reason": reason, "message": message}
        conditions = conditioned(objs_at(found, "status", "conditions"), entry, self._plane.stamp)
        self._plane.set_status(KIND, found, {"conditions": conditions})
        return None

    def _verdict(self, found: Obj) -> tuple[str, str, str]:
        reference = obj_at(found, "spec", "service")
        if not reference:
            return "True", "Local", "Local APIServices are always available"
        namespace, name = text_at(reference, "namespace"), text_at(reference, "name")
        who = f'service/{name} in "{namespace}"'
        if self._plane.get("services", namespace, name) is None:
            return "False", "ServiceNotFound", f"{who} is not present"
        endpoints = self._plane.get("endpoints", namespace, name)
        if not any(subset.get("addresses") for subset in objs_at(endpoints, "subsets")):
            return "False", "MissingEndpoints", f'endpoints for {who} have no addresses with port name "https"'
        if word(found) == "unavailable":
            why = f"failing or missing response from https://{name}.{namespace}.svc:443: no response"
            return "False", "FailedDiscoveryCheck", why
        return "True", "Passed", "all checks passed"


def _uses(row: Obj, key: Key) -> bool:
    reference = obj_at(row, "spec", "service")
    return (text_at(reference, "namespace"), text_at(reference, "name")) == (key.namespace, key.name)
