"""Which part of an object a request may write: its status, its replicas, or all the rest."""

from typing import Any

from locktender.embedded.cluster.resources import Resource
from locktender.embedded.cluster.scale import scaled
from locktender.embedded.cluster.shapes import Obj, clone, int_at, is_list, is_obj

# The server's own part of the metadata: a client's version of it is ignored.
KEPT = ("uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "generation")


def isolate(resource: Resource, before: Obj, obj: Obj, subresource: str) -> Obj:
    """The next state of `before` when a client sends `obj` to this part of it. `obj` is used up."""
    if subresource:
        after = clone(before)
        if subresource == "scale":
            scaled(resource, after, int_at(obj, "spec", "replicas"))
        elif "status" in obj:
            after["status"] = obj["status"]
        else:
            after.pop("status", None)
        return after
    metadata = obj["metadata"]
    owners = metadata.get("managedFields")
    for name in (*KEPT, "managedFields"):
        metadata.pop(name, None)
        if name in before["metadata"]:
            metadata[name] = clone(before["metadata"][name])
    if is_list(owners) and owners:
        # Clients may rewrite who owns what; that is how ownership passes from client-side apply to server-side apply.
        metadata["managedFields"] = owners
    if resource.status:
        obj.pop("status", None)
        if "status" in before:
            obj["status"] = clone(before["status"])
    return obj


def narrow(resource: Resource, config: Obj, subresource: str) -> None:
    """Leave only the part of an applied configuration that this path may write, in place."""
    for name in (*KEPT, "resourceVersion", "selfLink"):
        config["metadata"].pop(name, None)
    if subresource:
        for name in [name for name in config if name not in ("apiVersion", "kind", "metadata", "status")]:
            config.pop(name)
        config["metadata"] = {k: v for k, v in config["metadata"].items() if k in ("name", "namespace")}
    elif resource.status:
        config.pop("status", None)


def intent(resource: Resource, obj: Obj) -> Obj:
    """The part of an object whose change raises its generation."""
    # A custom kind without a status of its own has nothing that would not count.
    apart = ("metadata", "status") if resource.status or resource.builtin else ("metadata",)
    return {name: value for name, value in obj.items() if name not in apart}


def blank(config: Obj) -> Obj:
    """The object that an apply starts from when there is none."""
    kept = ("name", "namespace")
    metadata = {name: value for name, value in config["metadata"].items() if name in kept}
    return {"apiVersion": config["apiVersion"], "kind": config["kind"], "metadata": metadata}


def without_nulls(value: Any) -> Any:
    """A copy without the fields that are null."""
    if is_obj(value):
        return {name: without_nulls(item) for name, item in value.items() if item is not None}
    if is_list(value):
        return [without_nulls(item) for item in value]
    return value
