"""The `scale` subresource: the number of replicas seen as an object of its own."""

from locktender.embedded.cluster.resources import Resource
from locktender.embedded.cluster.shapes import Obj, at, int_at, name_of, namespace_of, obj_at, own, text_at, uid_of


def scale_of(resource: Resource, obj: Obj) -> Obj:
    """The `Scale` of a workload."""
    metadata: Obj = {
        "name": name_of(obj),
        "namespace": namespace_of(obj),
        "uid": uid_of(obj),
        "resourceVersion": text_at(obj, "metadata", "resourceVersion"),
        "creationTimestamp": text_at(obj, "metadata", "creationTimestamp"),
    }
    return {
        "kind": "Scale",
        "apiVersion": "autoscaling/v1",
        "metadata": {name: value for name, value in metadata.items() if value},
        "spec": {"replicas": int_at(obj, *_path(resource, "specReplicasPath", ".spec.replicas"))},
        "status": {
            "replicas": int_at(obj, *_path(resource, "statusReplicasPath", ".status.replicas")),
            "selector": _selector(resource, obj),
        },
    }


def scaled(resource: Resource, obj: Obj, replicas: int) -> None:
    """Set the number of replicas, in place."""
    *parents, name = _path(resource, "specReplicasPath", ".spec.replicas")
    own(obj, *parents)[name] = replicas


def workload_body(scale: Obj) -> Obj:
    """The part of a workload that a `Scale` stands for, as `Writer.replace` takes it."""
    metadata = {key: value for key, value in obj_at(scale, "metadata").items() if key in ("resourceVersion", "uid")}
    return {"metadata": metadata, "spec": {"replicas": int_at(scale, "spec", "replicas")}}


def _selector(resource: Resource, obj: Obj) -> str:
    if resource.custom is not None:
        path = _path(resource, "labelSelectorPath", "")
        return text_at(obj, *path) if path else ""
    selector = obj_at(obj, "spec", "selector")
    wanted = selector if at(obj, "kind") == "ReplicationController" else obj_at(selector, "matchLabels")
    return ",".join(f"{key}={value}" for key, value in wanted.items())


def _path(resource: Resource, name: str, default: str) -> list[str]:
    path = text_at(resource.custom.scale, name) if resource.custom is not None else default
    return [step for step in (path or "").split(".") if step]
