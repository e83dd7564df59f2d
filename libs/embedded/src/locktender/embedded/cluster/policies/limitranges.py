"""LimitRanges: what containers get that say nothing, and how much is too much."""

from collections.abc import Iterator

from locktender.embedded.cluster.objects import Store
from locktender.embedded.cluster.policies.footprint import demand
from locktender.embedded.cluster.quantity import amount, is_binary, written
from locktender.embedded.cluster.refusal import forbidden
from locktender.embedded.cluster.resources import Resource
from locktender.embedded.cluster.shapes import Obj, name_of, namespace_of, obj_at, objs_at, own, text_at

LIMIT_RANGES = "limitranges"
_NOTE = "kubernetes.io/limit-ranger"


def limit(store: Store, resource: Resource, obj: Obj) -> None:
    """Fill in the defaults for a new pod in place, and check a pod or claim.

    Raises:
        Refusal: 403 with all limits that it breaks.
    """
    rows = store.select(LIMIT_RANGES, namespace_of(obj))
    ranges = [entry for row in rows for entry in objs_at(row, "spec", "limits")]
    if not ranges:
        return
    if resource.kind == "Pod":
        _fill(obj, ranges)
    broken = list(_broken(resource, obj, ranges))
    if broken:
        raise forbidden(resource, name_of(obj), broken[0] if len(broken) == 1 else f"[{', '.join(broken)}]")


def _defaults(ranges: list[Obj]) -> tuple[Obj, Obj]:
    """Default requests and limits. A maximum is the default limit where none is named."""
    requests: Obj = {}
    limits: Obj = {}
    for entry in (entry for entry in ranges if text_at(entry, "type") == "Container"):
        most = obj_at(entry, "max") | obj_at(entry, "default")
        limits |= most
        requests |= obj_at(entry, "min") | most | obj_at(entry, "defaultRequest")
    return requests, limits


def _fill(pod: Obj, ranges: list[Obj]) -> None:
    requests, limits = _defaults(ranges)
    notes: list[str] = []
    for container in objs_at(pod, "spec", "containers"):
        said = obj_at(container, "resources", "limits")
        # A limit without a request is the request.
        wanted = {"limits": limits, "requests": requests | said}
        for what, table in wanted.items():
            missing = {n: v for n, v in table.items() if n not in obj_at(container, "resources", what)}
            if missing:
                own(container, "resources", what).update(missing)
                names = ", ".join(sorted(missing))
                notes.append(f"{names} {what[:-1]} for container {text_at(container, 'name')}")
    if notes:
        own(pod, "metadata", "annotations")[_NOTE] = f"LimitRanger plugin set: {'; '.join(notes)}"


def _broken(resource: Resource, obj: Obj, ranges: list[Obj]) -> Iterator[str]:
    for entry in ranges:
        kind = text_at(entry, "type")
        if kind == "Container" and resource.kind == "Pod":
            for container in objs_at(obj, "spec", "containers"):
                yield from _bounds(entry, kind, obj_at(container, "resources"))
        elif kind == "Pod" and resource.kind == "Pod":
            totals = {what: {n: str(v) for n, v in demand(obj, what).items()} for what in ("requests", "limits")}
            yield from _bounds(entry, kind, totals)
        elif kind == "PersistentVolumeClaim" and resource.kind == kind:
            yield from _bounds(entry, kind, obj_at(obj, "spec", "resources"))


def _bounds(entry: Obj, kind: str, resources: Obj) -> Iterator[str]:
    requests, limits = obj_at(resources, "requests"), obj_at(resources, "limits")
    for name, least in obj_at(entry, "min").items():
        asked = requests.get(name)
        if asked is None:
            yield f"minimum {name} usage per {kind} is {least}.  No request is specified"
        elif amount(asked) < amount(least):
            yield f"minimum {name} usage per {kind} is {least}, but request is {_told(name, asked)}"
    for name, most in obj_at(entry, "max").items():
        asked, capped = requests.get(name), limits.get(name)
        if capped is None and asked is None:
            yield f"maximum {name} usage per {kind} is {most}.  No limit is specified"
        elif capped is not None and amount(capped) > amount(most):
            yield f"maximum {name} usage per {kind} is {most}, but limit is {_told(name, capped)}"
        elif asked is not None and amount(asked) > amount(most):
            yield f"maximum {name} usage per {kind} is {most}, but request is {_told(name, asked)}"


def _told(name: str, value: object) -> str:
    return written(amount(value), binary=is_binary(name))
