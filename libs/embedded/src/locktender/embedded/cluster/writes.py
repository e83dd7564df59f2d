"""Creating and changing objects. Every change of an object, by a client or a controller, goes through `Writer`."""

from dataclasses import dataclass
from typing import Any
from uuid import uuid4

from locktender.contracts.kernel.clock import Clock
from locktender.embedded.cluster.admission import allocate, enter_namespace, identify
from locktender.embedded.cluster.apply import apply
from locktender.embedded.cluster.clock import stamp
from locktender.embedded.cluster.defaults import fill
from locktender.embedded.cluster.objects import Key, Store
from locktender.embedded.cluster.ownership import Operation, Owner, after_update, record
from locktender.embedded.cluster.refusal import (
    already_exists,
    bad_request,
    conflict,
    modified,
    not_found,
)
from locktender.embedded.cluster.resources import Registry, Resource
from locktender.embedded.cluster.shapes import (
    Obj,
    at,
    clone,
    int_at,
    is_going,
    is_list,
    is_obj,
    list_at,
    name_of,
    namespace_of,
    text_at,
    uid_of,
)
from locktender.embedded.cluster.typecheck import check_types
from locktender.embedded.cluster.validation import check

# The server's own part of the metadata: a client's version of it is ignored.
_KEPT = ("uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "generation")


@dataclass(frozen=True, slots=True)
class Author:
    """Who writes, and how.

    Attributes:
        manager: field manager that will own what is written.
        subresource: "status" or "scale" to write nothing but the status or the replicas, "" for everything else.
        dry_run: answer as if it had been written, and store nothing.
    """

    manager: str
    subresource: str = ""
    dry_run: bool = False


class Writer:
    """The write half of the API. Calls are synchronous and atomic; arguments are never kept or changed."""

    def __init__(self, store: Store, registry: Registry, clock: Clock) -> None:
        self.store = store
        self.registry = registry
        self.clock = clock

    def create(self, resource: Resource, namespace: str, body: Obj, author: Author) -> Obj:
        """Store a new object and return it.

        Raises:
            Refusal: 409 when the name is taken, 404 or 403 for its namespace, 400 or 422 for its content.
        """
        obj = clone(body)
        identify(resource, namespace, "", obj)
        if obj["metadata"].pop("resourceVersion", None):
            raise bad_request("resourceVersion should not be set on objects to be created")
        enter_namespace(self.store, self.registry, resource, obj)
        if self.store.get(_key(resource, obj)) is not None:
            raise already_exists(resource, name_of(obj))
        self._be_born(resource, obj)
        self._complete(resource, None, obj)
        record(obj, after_update(_shape(resource), None, obj, self._owner(resource, author, "Update")))
        return self._store(resource, obj, dry_run=author.dry_run)

    def replace(self, resource: Resource, key: Key, body: Obj, author: Author) -> Obj:
        """Store a full new version of an object. Nothing changes (not even its version) when it is the same.

        Raises:
            Refusal: 404 when it is not there, 409 when `body` names another version or uid, 400 or 422 for its
                content.
        """
        before = self.store.get(key)
        if before is None:
            raise not_found(resource, key.name)
        obj = clone(body)
        identify(resource, key.namespace, key.name, obj)
        self._check_preconditions(resource, before, obj)
        after = self._isolate(resource, before, obj, author.subresource)
        self._complete(resource, before, after)
        record(after, after_update(_shape(resource), before, after, self._owner(resource, author, "Update")))
        return self._settle(resource, before, after, dry_run=author.dry_run)

    def apply(self, resource: Resource, key: Key, config: Obj, author: Author, *, force: bool) -> tuple[Obj, bool]:
        """Server-side apply. Returns the object and whether it is new.

        Raises:
            Refusal: 409 for conflicts with other managers; otherwise as `create` and `replace`.
        """
        wanted = _without_nulls(clone(config))
        if text_at(wanted, "apiVersion") == "" or text_at(wanted, "kind") == "":
            raise bad_request("apiVersion and kind must be set in an applied configuration")
        identify(resource, key.namespace, key.name, wanted)
        if at(wanted, "metadata", "managedFields"):
            raise bad_request("metadata.managedFields must be nil")
        before = self.store.get(key)
        if before is None and author.subresource:
            raise not_found(resource, key.name)
        if before is None:
            enter_namespace(self.store, self.registry, resource, wanted)
        self._check_preconditions(resource, before, wanted)
        _narrow(resource, wanted, author.subresource)
        live = before if before is not None else _blank(wanted)
        owner = self._owner(resource, author, "Apply")
        applied = apply(_shape(resource), live, wanted, owner, force=force)
        after = applied.obj
        if before is None:
            self._be_born(resource, after)
        self._complete(resource, before, after)
        record(after, applied.owners)
        if before is None:
            return self._store(resource, after, dry_run=author.dry_run), True
        return self._settle(resource, before, after, dry_run=author.dry_run), False

    def set_status(self, resource: Resource, obj: Obj, status: Obj, manager: str) -> Obj:
        """Write the status of an object as a controller does; the same status changes nothing."""
        if obj.get("status") == status:
            return obj
        author = Author(manager, subresource="status")
        body: Obj = {"metadata": {"name": name_of(obj)}, "status": status}
        return self.replace(resource, _key(resource, obj), body, author)

    def _owner(self, resource: Resource, author: Author, operation: Operation) -> Owner:
        now = stamp(self.clock)
        return Owner(author.manager, operation, resource.api_version, author.subresource, now, frozenset())

    def _be_born(self, resource: Resource, obj: Obj) -> None:
        metadata = obj["metadata"]
        for name in (*_KEPT, "managedFields", "selfLink"):
            metadata.pop(name, None)
        metadata["uid"] = str(uuid4())
        metadata["creationTimestamp"] = stamp(self.clock)
        if resource.counted:
            metadata["generation"] = 1
        if resource.status:
            obj.pop("status", None)

    def _isolate(self, resource: Resource, before: Obj, obj: Obj, subresource: str) -> Obj:
        if subresource:
            after = clone(before)
            if subresource == "scale":
                after["spec"]["replicas"] = int_at(obj, "spec", "replicas")
            elif "status" in obj:
                after["status"] = obj["status"]
            else:
                after.pop("status", None)
            return after
        metadata = obj["metadata"]
        for name in (*_KEPT, "managedFields"):
            metadata.pop(name, None)
            if name in before["metadata"]:
                metadata[name] = clone(before["metadata"][name])
        if resource.status:
            obj.pop("status", None)
            if "status" in before:
                obj["status"] = clone(before["status"])
        return obj

    def _check_preconditions(self, resource: Resource, before: Obj | None, obj: Obj) -> None:
        version, uid = at(obj, "metadata", "resourceVersion"), at(obj, "metadata", "uid")
        name = name_of(obj)
        if before is None:
            if version or uid:
                raise modified(resource, name)
            return
        if version and version != text_at(before, "metadata", "resourceVersion"):
            raise modified(resource, name)
        if uid and uid != uid_of(before):
            why = f"Precondition failed: UID in precondition: {uid}, UID in object meta: {uid_of(before)}"
            raise conflict(resource, name, why)

    def _complete(self, resource: Resource, before: Obj | None, after: Obj) -> None:
        check_types(resource, after)
        if resource.builtin:
            fill(resource.kind, after)
        allocate(self.store, resource, before, after)
        check(resource, before, after)

    def _settle(self, resource: Resource, before: Obj, after: Obj, *, dry_run: bool) -> Obj:
        after["metadata"]["resourceVersion"] = before["metadata"]["resourceVersion"]
        if resource.counted and _intent(before) != _intent(after):
            after["metadata"]["generation"] = int_at(before, "metadata", "generation") + 1
        if after == before:
            return before
        stored = self._store(resource, after, dry_run=dry_run)
        if is_going(stored) and not list_at(stored, "metadata", "finalizers") and not dry_run:
            self.release(resource, stored)
        return stored

    def _store(self, resource: Resource, obj: Obj, *, dry_run: bool) -> Obj:
        return obj if dry_run else self.store.put(resource.qualified, obj)

    def release(self, resource: Resource, obj: Obj) -> None:
        """Remove an object that was deleted and lost its last finalizer. Pods and namespaces wait for more."""
        if resource.qualified not in ("pods", "namespaces"):
            self.store.remove(_key(resource, obj))


def _key(resource: Resource, obj: Obj) -> Key:
    return Key(resource.qualified, namespace_of(obj), name_of(obj))


def _shape(resource: Resource) -> str:
    return resource.kind if resource.builtin else ""


def _intent(obj: Obj) -> Obj:
    return {name: value for name, value in obj.items() if name not in ("metadata", "status")}


def _blank(config: Obj) -> Obj:
    kept = ("name", "namespace")
    metadata = {name: value for name, value in config["metadata"].items() if name in kept}
    return {"apiVersion": config["apiVersion"], "kind": config["kind"], "metadata": metadata}


def _narrow(resource: Resource, config: Obj, subresource: str) -> None:
    """Leave only the part that this path may write."""
    for name in (*_KEPT, "resourceVersion", "selfLink"):
        config["metadata"].pop(name, None)
    if subresource:
        for name in [name for name in config if name not in ("apiVersion", "kind", "metadata", "status")]:
            config.pop(name)
        config["metadata"] = {k: v for k, v in config["metadata"].items() if k in ("name", "namespace")}
    elif resource.status:
        config.pop("status", None)


def _without_nulls(value: Any) -> Any:
    if is_obj(value):
        return {name: _without_nulls(item) for name, item in value.items() if item is not None}
    if is_list(value):
        return [_without_nulls(item) for item in value]
    return value
