"""Claims may grow where their class allows it, and never shrink."""

from locktender.embedded.cluster.objects import Key, Store
from locktender.embedded.cluster.quantity import amount
from locktender.embedded.cluster.refusal import forbidden, invalid
from locktender.embedded.cluster.resources import Resource
from locktender.embedded.cluster.shapes import Obj, at, name_of, obj_at, text_at

_UNBOUND = "spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims"
_NOT_RESIZABLE = (
    "only dynamically provisioned pvc can be resized and the storageclass that provisions the pvc must support resize"
)
_CLASSES = "storageclasses.storage.k8s.io"


def check_resize(store: Store, resource: Resource, before: Obj, after: Obj) -> None:
    """Pass a change of a claim, or refuse its new size.

    Raises:
        Refusal: 422 when it shrinks or is not bound, 403 when its class does not let it grow.
    """
    old, new = (amount(obj_at(claim, "spec", "resources", "requests").get("storage")) for claim in (before, after))
    if old == new:
        return
    field = "spec.resources.requests.storage"
    if new < old:
        why = "Forbidden: field can not be less than status.capacity"
        raise invalid(resource, name_of(after), [(field, "FieldValueForbidden", why)])
    if text_at(before, "status", "phase") != "Bound":
        raise invalid(resource, name_of(after), [("spec", "FieldValueForbidden", f"Forbidden: {_UNBOUND}")])
    storage_class = store.get(Key(_CLASSES, "", text_at(after, "spec", "storageClassName")))
    if at(storage_class, "allowVolumeExpansion") is not True:
        raise forbidden(resource, name_of(after), _NOT_RESIZABLE)
