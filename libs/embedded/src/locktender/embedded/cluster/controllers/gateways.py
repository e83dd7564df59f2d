"""Gateway API: gateways and routes get the status that a controller of theirs would write."""

from collections.abc import Iterable

from locktender.embedded.cluster.controllers.addresses import Waits, balancer_ip
from locktender.embedded.cluster.controllers.plane import Plane, conditioned
from locktender.embedded.cluster.controllers.script import word
from locktender.embedded.cluster.objects import Change, Key
from locktender.embedded.cluster.shapes import Obj, int_at, is_going, name_of, namespace_of, objs_at, text_at

GROUP = "gateway.networking.k8s.io"
CLASSES = f"gatewayclasses.{GROUP}"
GATEWAYS = f"gateways.{GROUP}"
ROUTES = (f"httproutes.{GROUP}", f"grpcroutes.{GROUP}")


class GatewayController:
    """Classes are accepted; gateways of a class that is there are accepted and programmed, after a while."""

    def __init__(self, plane: Plane) -> None:
        self._plane = plane
        self._waits = Waits(plane)

    def keys(self, change: Change) -> Iterable[Key]:
        key = change.key
        if key.kind == GATEWAYS and change.type == "DELETED":
            self._waits.forget(change.after)
            return []
        if key.kind == CLASSES:
            rows = self._plane.cluster.store.select(GATEWAYS)
            return [key, *(Key(GATEWAYS, namespace_of(row), name_of(row)) for row in rows)]
        if key.kind in ROUTES:
            return [
                Key(GATEWAYS, text_at(ref, "namespace") or key.namespace, text_at(ref, "name"))
                for ref in objs_at(change.after, "spec", "parentRefs")
            ]
        return [key] if key.kind == GATEWAYS else []

    def reconcile(self, key: Key) -> float | None:
        found = self._plane.get(key.kind, key.namespace, key.name)
        if found is None or is_going(found):
            return None
        if key.kind == CLASSES:
            self._set(key.kind, found, {}, [("Accepted", "True", "Accepted", "Valid GatewayClass")])
            return None
        if self._plane.get(CLASSES, "", text_at(found, "spec", "gatewayClassName")) is None:
            # Nobody feels responsible for it.
            return None
        return self._program(found)

    def _program(self, gateway: Obj) -> float | None:
        if word(gateway) == "refuse":
            entries = [
                ("Accepted", "False", "Invalid", "the gateway is not valid"),
                ("Programmed", "False", "Invalid", "the gateway is not valid"),
            ]
            self._set(GATEWAYS, gateway, {}, entries)
            return None
        left = self._waits.left(gateway)
        accepted = ("Accepted", "True", "Accepted", "The Gateway has been scheduled")
        if left != 0:
            waiting = ("Programmed", "False", "AddressNotAssigned", "No addresses have been assigned to the Gateway")
            self._set(GATEWAYS, gateway, self._listeners(gateway), [accepted, waiting])
            return left
        address = {"addresses": [{"type": "IPAddress", "value": balancer_ip(gateway)}]}
        programmed = ("Programmed", "True", "Programmed", "Address assigned to the Gateway")
        self._set(GATEWAYS, gateway, address | self._listeners(gateway), [accepted, programmed])
        return None

    def _listeners(self, gateway: Obj) -> Obj:
        known = {text_at(row, "name"): row for row in objs_at(gateway, "status", "listeners")}
        rows: list[Obj] = []
        for listener in objs_at(gateway, "spec", "listeners"):
            name = text_at(listener, "name")
            kinds = [{"group": GROUP, "kind": kind} for kind in ("HTTPRoute", "GRPCRoute")]
            conditions = objs_at(known.get(name), "conditions")
            for kind, reason in (
                ("Accepted", "Accepted"),
                ("Programmed", "Programmed"),
                ("ResolvedRefs", "ResolvedRefs"),
            ):
                entry = _entry((kind, "True", reason, ""), gateway)
                conditions = conditioned(conditions, entry, self._plane.stamp)
            count = self._attached(gateway, name)
            rows.append({"name": name, "supportedKinds": kinds, "attachedRoutes": count, "conditions": conditions})
        return {"listeners": rows}

    def _attached(self, gateway: Obj, listener: str) -> int:
        routes = [route for kind in ROUTES for route in self._plane.cluster.store.select(kind)]
        return sum(any(_points(ref, route, gateway, listener) for ref in _parents(route)) for route in routes)

    def _set(self, kind: str, obj: Obj, status: Obj, entries: list[tuple[str, str, str, str]]) -> None:
        conditions = objs_at(obj, "status", "conditions")
        for entry in entries:
            conditions = conditioned(conditions, _entry(entry, obj), self._plane.stamp)
        self._plane.set_status(kind, obj, status | {"conditions": conditions})


def _entry(said: tuple[str, str, str, str], obj: Obj) -> Obj:
    kind, status, reason, message = said
    entry: Obj = {"type": kind, "status": status, "reason": reason, "message": message}
    return entry | {"observedGeneration": int_at(obj, "metadata", "generation")}


def _parents(route: Obj) -> list[Obj]:
    return objs_at(route, "spec", "parentRefs")


def _points(reference: Obj, route: Obj, gateway: Obj, listener: str) -> bool:
    space = text_at(reference, "namespace") or namespace_of(route)
    section = text_at(reference, "sectionName")
    same = (space, text_at(reference, "name")) == (namespace_of(gateway), name_of(gateway))
    return same and section in ("", listener)


class RouteController:
    """Routes are accepted by parents that are there, and resolved when their backends are."""

    def __init__(self, plane: Plane) -> None:
        self._plane = plane

    def keys(self, change: Change) -> Iterable[Key]:
        key = change.key
        if key.kind in ROUTES:
            return [] if change.type == "DELETED" else [key]
        if key.kind != GATEWAYS and not (key.kind == "services" and change.type != "MODIFIED"):
            return []
        store = self._plane.cluster.store
        return [Key(kind, namespace_of(row), name_of(row)) for kind in ROUTES for row in store.select(kind)]

    def reconcile(self, key: Key) -> float | None:
        route = self._plane.get(key.kind, key.namespace, key.name)
        if route is None or is_going(route):
            return None
        known = objs_at(route, "status", "parents")
        rows: list[Obj] = []
        for reference in _parents(route):
            row = next((row for row in known if row.get("parentRef") == reference), None)
            conditions = objs_at(row, "conditions")
            for entry in (self._accepted(route, reference), self._resolved(route)):
                conditions = conditioned(conditions, _entry(entry, route), self._plane.stamp)
            controller = {"controllerName": "sandbox.locktender.dev/gateway"}
            rows.append({"parentRef": reference, **controller, "conditions": conditions})
        if rows != known:
            self._plane.set_status(key.kind, route, {"parents": rows})
        return None

    def _accepted(self, route: Obj, reference: Obj) -> tuple[str, str, str, str]:
        space, name = text_at(reference, "namespace") or namespace_of(route), text_at(reference, "name")
        gateway = self._plane.get(GATEWAYS, space, name)
        if gateway is None:
            return "Accepted", "False", "NoMatchingParent", f"Gateway {space}/{name} was not found"
        listeners = objs_at(gateway, "spec", "listeners")
        wanted = [one for one in listeners if text_at(reference, "sectionName") in ("", text_at(one, "name"))]
        if not wanted:
            message = f"No listener named {text_at(reference, 'sectionName')} on Gateway {space}/{name}"
            return "Accepted", "False", "NoMatchingParent", message
        if space != namespace_of(route) and not any(_is_open(listener) for listener in wanted):
            return (
                "Accepted",
                "False",
                "NotAllowedByListeners",
                "No listeners on the Gateway allow routes of this namespace",
            )
        return "Accepted", "True", "Accepted", "Route was valid"

    def _resolved(self, route: Obj) -> tuple[str, str, str, str]:
        for rule in objs_at(route, "spec", "rules"):
            for backend in objs_at(rule, "backendRefs"):
                space, name = text_at(backend, "namespace") or namespace_of(route), text_at(backend, "name")
                if text_at(backend, "kind") not in ("", "Service"):
                    group, kind = text_at(backend, "group"), text_at(backend, "kind")
                    message = f'referencing unsupported backendRef: group "{group}" kind "{kind}"'
                    return "ResolvedRefs", "False", "InvalidKind", message
                if self._plane.get("services", space, name) is None:
                    return "ResolvedRefs", "False", "BackendNotFound", f"backend({name}.{space}.svc) not found"
        return "ResolvedRefs", "True", "ResolvedRefs", "All references resolved"


def _is_open(listener: Obj) -> bool:
    return text_at(listener, "allowedRoutes", "namespaces", "from") in ("All", "Selector")
