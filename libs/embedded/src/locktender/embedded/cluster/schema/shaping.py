"""The schema of a served kind, standard or custom."""

from functools import cache

from locktender.embedded.cluster.listkeys import UNTYPED, Shape
from locktender.embedded.cluster.resources import Resource
from locktender.embedded.cluster.schema.types import type_name


@cache
def _standard(name: str) -> Shape:
    return Shape({"$ref": name}) if name else UNTYPED


def shape_of(resource: Resource) -> Shape:
    """How objects of a kind are built; `UNTYPED` for a kind without a schema."""
    if resource.custom is not None:
        return resource.custom.shape
    if not resource.builtin:
        return UNTYPED
    return _standard(type_name(resource.group, resource.version, resource.kind))
