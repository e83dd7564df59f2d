"""The `scale` subresource: the number of replicas seen as an object of its own."""

from locktender.embedded.cluster.shapes import Obj, int_at, name_of, namespace_of, obj_at, text_at, uid_of


def scale_of(obj: Obj) -> Obj:
    """The `Scale` of a workload."""
    selector = obj_at(obj, "spec", "selector", "matchLabels")
    return {
        "kind": "Scale",
        "apiVersion": "autoscaling/v1",
        "metadata": {
            "name": name_of(obj),
            "namespace": namespace_of(obj),
            "uid": uid_of(obj),
            "resourceVersion": text_at(obj, "metadata", "resourceVersion"),
            "creationTimestamp": text_at(obj, "metadata", "creationTimestamp"),
        },
        "spec": {"replicas": int_at(obj, "spec", "replicas")},
        "status": {
            "replicas": int_at(obj, "status", "replicas"),
            "selector": ",".join(f"{key}={value}" for key, value in selector.items()),
        },
    }


def workload_body(scale: Obj) -> Obj:
    """The part of a workload that a `Scale` stands for, as `Writer.replace` takes it."""
    metadata = {key: value for key, value in obj_at(scale, "metadata").items() if key in ("resourceVersion", "uid")}
    return {"metadata": metadata, "spec": {"replicas": int_at(scale, "spec", "replicas")}}
