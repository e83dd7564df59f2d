"""What happens to an object between the request and the store: names, namespaces, allocated values."""

import base64
import secrets
from ipaddress import IPv4Address

from locktender.embedded.cluster.objects import Key, Store
from locktender.embedded.cluster.refusal import bad_request, forbidden, invalid, not_found
from locktender.embedded.cluster.resources import Registry, Resource
from locktender.embedded.cluster.shapes import Obj, at, is_going, name_of, obj_at, objs_at, own, text_at

_ALPHABET = "bcdfghjklmnpqrstvwxz2456789"
_FIRST_SERVICE_IP = IPv4Address("10.96.0.10")
_FIRST_NODE_PORT = 30000


def suffix(length: int = 5) -> str:
    """Random characters as generated names end with."""
    return "".join(secrets.choice(_ALPHABET) for _ in range(length))


def identify(resource: Resource, namespace: str, name: str, obj: Obj) -> None:
    """Make an object agree with the path of its request, in place.

    Raises:
        Refusal: 400 when kind, version, name or namespace disagree; 422 when there is no name at all.
    """
    expected = (resource.api_version, resource.kind)
    given = (text_at(obj, "apiVersion") or expected[0], text_at(obj, "kind") or expected[1])
    if given != expected:
        asked, served = (f"{kind} in version {version}" for version, kind in (given, expected))
        raise bad_request(f"the object provided is {asked}, but the path serves {served}")
    obj["apiVersion"], obj["kind"] = expected
    metadata = own(obj, "metadata")
    if namespace and metadata.get("namespace") not in (None, "", namespace):
        raise bad_request("the namespace of the provided object does not match the namespace sent on the request")
    if namespace:
        metadata["namespace"] = namespace
    elif not resource.namespaced:
        metadata.pop("namespace", None)
    if name and metadata.get("name") not in (None, "", name):
        message = f"the name of the object ({metadata['name']}) does not match the name on the URL ({name})"
        raise bad_request(message)
    if name:
        metadata["name"] = name
    elif not text_at(metadata, "name"):
        if not text_at(metadata, "generateName"):
            message = "Required value: name or generateName is required"
            raise invalid(resource, "", [("metadata.name", "FieldValueRequired", message)])
        metadata["name"] = text_at(metadata, "generateName") + suffix()


def enter_namespace(store: Store, registry: Registry, resource: Resource, obj: Obj) -> None:
    """Check that the namespace of a new object takes it.

    Raises:
        Refusal: 404 when the namespace does not exist, 403 when it is being deleted.
    """
    if not resource.namespaced:
        return
    name = text_at(obj, "metadata", "namespace")
    namespace = store.get(Key("namespaces", "", name))
    if namespace is None:
        raise not_found(registry.named("namespaces"), name)
    if is_going(namespace):
        why = f"unable to create new content in namespace {name} because it is being terminated"
        cause = {"reason": "NamespaceTerminating", "message": f"namespace {name} is being terminated"}
        details: Obj = {"causes": [cause | {"field": "metadata.namespace"}]}
        raise forbidden(resource, name_of(obj), why, details=details)


def allocate(store: Store, resource: Resource, before: Obj | None, obj: Obj) -> None:
    """Fill in place what the server chooses once and keeps: service addresses, encoded secret strings."""
    match resource.qualified:
        case "services":
            _allocate_service(store, before, obj)
        case "secrets":
            _encode_strings(obj)
        case _:
            pass


def _allocate_service(store: Store, before: Obj | None, obj: Obj) -> None:
    spec = own(obj, "spec")
    if spec.get("type") == "ExternalName":
        return
    if not spec.get("clusterIP"):
        spec["clusterIP"] = at(before, "spec", "clusterIP") or _free_address(store)
    if spec["clusterIP"] != "None":
        spec["clusterIPs"] = [spec["clusterIP"]]
    if spec.get("type") in ("NodePort", "LoadBalancer"):
        known = {_port_key(port): port.get("nodePort") for port in objs_at(before, "spec", "ports")}
        for port in objs_at(spec, "ports"):
            if not port.get("nodePort"):
                port["nodePort"] = known.get(_port_key(port)) or _free_port(store, spec)


def _port_key(port: Obj) -> tuple[object, object]:
    return port.get("port"), port.get("protocol")


def _free_address(store: Store) -> str:
    taken = {text_at(service, "spec", "clusterIP") for service in store.select("services")}
    return next(str(_FIRST_SERVICE_IP + n) for n in range(len(taken) + 1) if str(_FIRST_SERVICE_IP + n) not in taken)


def _free_port(store: Store, own_spec: Obj) -> int:
    specs = [own_spec, *(obj_at(service, "spec") for service in store.select("services"))]
    taken = {port.get("nodePort") for spec in specs for port in objs_at(spec, "ports")}
    return next(p for p in range(_FIRST_NODE_PORT, _FIRST_NODE_PORT + len(taken) + 1) if p not in taken)


def _encode_strings(obj: Obj) -> None:
    strings = obj_at(obj, "stringData")
    if strings:
        own(obj, "data").update(
            {name: base64.b64encode(str(value).encode()).decode() for name, value in strings.items()}
        )
    obj.pop("stringData", None)
