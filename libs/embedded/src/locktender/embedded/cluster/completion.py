"""What the server makes of an object before it is stored: decoded, completed and checked, in place."""

from locktender.embedded.cluster.admission import allocate
from locktender.embedded.cluster.defaults import fill
from locktender.embedded.cluster.objects import Store
from locktender.embedded.cluster.resources import Resource
from locktender.embedded.cluster.schema.defaulting import fill_defaults
from locktender.embedded.cluster.schema.fields import drop_nulls, prune
from locktender.embedded.cluster.schema.shaping import shape_of
from locktender.embedded.cluster.shapes import Obj
from locktender.embedded.cluster.typecheck import check_types
from locktender.embedded.cluster.validation import check


def decode_fields(resource: Resource, obj: Obj) -> None:
    """Leave nothing in `obj` that its kind does not have.

    Raises:
        Refusal: 400 for a value of the wrong type.
    """
    check_types(resource, obj)
    shape = shape_of(resource)
    if resource.builtin:
        drop_nulls(shape, obj)
    prune(shape, obj)


def complete(store: Store, resource: Resource, before: Obj | None, after: Obj) -> None:
    """Complete `after` as the next state of `before` and check it.

    Raises:
        Refusal: 400 or 422 for its content.
    """
    # What is as it was stored was decoded when it was stored.
    fresh = {name: value for name, value in after.items() if before is None or before.get(name) != value}
    decoded = dict(fresh)
    decode_fields(resource, decoded)
    for name in fresh.keys() - decoded.keys():
        after.pop(name)
    if resource.builtin:
        fill(resource.kind, after)
    elif resource.schema:
        fill_defaults(resource.schema, after)
    allocate(store, resource, before, after)
    check(resource, before, after)
