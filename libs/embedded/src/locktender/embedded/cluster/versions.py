"""One object in the several versions of its kind: nothing but `apiVersion` differs."""

from locktender.embedded.cluster.resources import Resource
from locktender.embedded.cluster.shapes import Obj


def as_served(resource: Resource, obj: Obj) -> Obj:
    """A stored object as a version of its kind shows it. Shared with the store where nothing differs."""
    if resource.custom is None or obj.get("apiVersion") != resource.stored_version:
        return obj
    return {**obj, "apiVersion": resource.api_version}
