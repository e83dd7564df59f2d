"""Deleting objects: preconditions, finalizers, and what becomes of dependents."""

from dataclasses import dataclass

from locktender.embedded.cluster.clock import stamp
from locktender.embedded.cluster.crds.definition import CLEANUP, CRDS
from locktender.embedded.cluster.objects import Key
from locktender.embedded.cluster.refusal import bad_request, conflict, not_found
from locktender.embedded.cluster.resources import Resource
from locktender.embedded.cluster.shapes import (
    Obj,
    at,
    clone,
    int_at,
    is_going,
    list_at,
    obj_at,
    objs_at,
    own,
    text_at,
    uid_of,
)
from locktender.embedded.cluster.writes import Writer

FOREGROUND = "foregroundDeletion"
_POLICIES = ("", "Background", "Foreground", "Orphan")


@dataclass(frozen=True, slots=True)
class Options:
    """What a delete request asks for. "" and None mean: not said."""

    policy: str = ""
    grace: int | None = None
    uid: str = ""
    version: str = ""
    dry_run: bool = False


def options(query: dict[str, str], body: Obj) -> Options:
    """Read `DeleteOptions` from the body, and from the query where the body is silent.

    Raises:
        Refusal: 400 for a propagation policy that does not exist.
    """
    policy = text_at(body, "propagationPolicy") or query.get("propagationPolicy", "")
    if not policy and body.get("orphanDependents") is True:
        policy = "Orphan"
    if policy not in _POLICIES:
        raise bad_request(f"propagationPolicy {policy} is not one of Background, Foreground, Orphan")
    asked = query.get("gracePeriodSeconds", "")
    grace: int | None = int(asked) if asked.isdigit() else None
    if "gracePeriodSeconds" in body:
        grace = int_at(body, "gracePeriodSeconds", default=30)
    wanted = obj_at(body, "preconditions")
    dry_run = "All" in list_at(body, "dryRun") or query.get("dryRun") == "All"
    return Options(policy, grace, text_at(wanted, "uid"), text_at(wanted, "resourceVersion"), dry_run)


def delete(writer: Writer, resource: Resource, key: Key, wanted: Options) -> tuple[Obj, bool]:
    """Delete an object. Returns its last known state and whether it is gone already.

    An object with finalizers, a pod with a grace period and a namespace stay, marked as going.

    Raises:
        Refusal: 404 when it is not there, 409 when a precondition does not hold.
    """
    obj = writer.store.get(key)
    if obj is None:
        raise not_found(resource, key.name)
    _check(resource, key, obj, wanted)
    if wanted.policy == "Orphan" and not wanted.dry_run:
        _orphan(writer, obj)
    going = _mark(writer, resource, obj, wanted)
    if wanted.dry_run:
        return going or obj, going is None
    if going is not None:
        return writer.store.put(key.kind, going) if going is not obj else obj, False
    writer.store.remove(key)
    return obj, True


def _check(resource: Resource, key: Key, obj: Obj, wanted: Options) -> None:
    if wanted.uid and wanted.uid != uid_of(obj):
        why = f"Precondition failed: UID in precondition: {wanted.uid}, UID in object meta: {uid_of(obj)}"
        raise conflict(resource, key.name, why)
    version = text_at(obj, "metadata", "resourceVersion")
    if wanted.version and wanted.version != version:
        why = (
            f"Precondition failed: ResourceVersion in precondition: {wanted.version}, "
            f"ResourceVersion in object meta: {version}"
        )
        raise conflict(resource, key.name, why)


def _mark(writer: Writer, resource: Resource, obj: Obj, wanted: Options) -> Obj | None:
    """The object marked as going, the same object when it already is, None when it may go at once."""
    waits_for_dependents = wanted.policy == "Foreground" and bool(writer.store.dependents(uid_of(obj)))
    grace = _grace(resource, obj, wanted)
    stays = resource.qualified in ("namespaces", CRDS) or bool(grace) or bool(list_at(obj, "metadata", "finalizers"))
    if not stays and not waits_for_dependents:
        return None
    if is_going(obj) and not waits_for_dependents:
        return obj
    going = clone(obj)
    metadata = going["metadata"]
    if resource.counted and not is_going(obj):
        metadata["generation"] = int_at(metadata, "generation") + 1
    metadata.setdefault("deletionTimestamp", stamp(writer.clock))
    metadata.setdefault("deletionGracePeriodSeconds", grace)
    if waits_for_dependents and FOREGROUND not in list_at(metadata, "finalizers"):
        metadata["finalizers"] = [*list_at(metadata, "finalizers"), FOREGROUND]
    if resource.qualified == CRDS:
        metadata["finalizers"] = [*list_at(metadata, "finalizers"), CLEANUP]
    if resource.qualified == "namespaces":
        own(going, "status")["phase"] = "Terminating"
    return going


def _grace(resource: Resource, obj: Obj, wanted: Options) -> int:
    if resource.qualified != "pods" or not text_at(obj, "spec", "nodeName"):
        return 0
    if at(obj, "status", "phase") in ("Succeeded", "Failed"):
        return 0
    own_grace = int_at(obj, "spec", "terminationGracePeriodSeconds", default=30)
    return own_grace if wanted.grace is None else wanted.grace


def _orphan(writer: Writer, owner: Obj) -> None:
    for key in writer.store.dependents(uid_of(owner)):
        found = writer.store.get(key)
        if found is None:
            continue
        child = clone(found)
        kept = [ref for ref in objs_at(child, "metadata", "ownerReferences") if text_at(ref, "uid") != uid_of(owner)]
        child["metadata"]["ownerReferences"] = kept
        if not kept:
            child["metadata"].pop("ownerReferences")
        writer.store.put(key.kind, child)
