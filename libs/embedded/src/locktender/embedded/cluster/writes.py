"""Creating and changing objects. Every change of an object, by a client or a controller, goes through `Writer`."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias
from uuid import uuid4

from locktender.contracts.kernel.clock import Clock
from locktender.embedded.cluster.admission import enter_namespace, identify
from locktender.embedded.cluster.apply import apply
from locktender.embedded.cluster.clock import stamp
from locktender.embedded.cluster.completion import complete, decode_fields
from locktender.embedded.cluster.objects import Key, Store
from locktender.embedded.cluster.ownership import Operation, Owner, after_update, record
from locktender.embedded.cluster.parts import KEPT, blank, intent, isolate, narrow, without_nulls
from locktender.embedded.cluster.refusal import (
    Refusal,
    already_exists,
    bad_request,
    conflict,
    modified,
    no_typed_patch,
    not_found,
)
from locktender.embedded.cluster.resources import Registry, Resource
from locktender.embedded.cluster.schema.shaping import shape_of
from locktender.embedded.cluster.schema.typed import untyped
from locktender.embedded.cluster.shapes import (
    Obj,
    at,
    clone,
    int_at,
    is_going,
    list_at,
    name_of,
    namespace_of,
    text_at,
    uid_of,
)
from locktender.embedded.cluster.statuswrites import with_status

Admit: TypeAlias = Callable[[Resource, Obj | None, Obj], None]
"""Passes an object that is about to be written (completing it in place), or raises a Refusal."""


def _admitted(_resource: Resource, _before: Obj | None, _after: Obj) -> None:
    """Admit everything."""


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
        self.admit: Admit = _admitted

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
        # The first status is the server's own, so nobody owns it.
        written = {name: value for name, value in obj.items() if name != "status" or not resource.status}
        record(obj, after_update(shape_of(resource), None, written, self._owner(resource, author, "Update")))
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
        after = isolate(resource, before, obj, author.subresource)
        self._complete(resource, before, after)
        record(after, after_update(shape_of(resource), before, after, self._owner(resource, author, "Update")))
        return self._settle(resource, before, after, dry_run=author.dry_run)

    def apply(self, resource: Resource, key: Key, config: Obj, author: Author, *, force: bool) -> tuple[Obj, bool]:
        """Server-side apply. Returns the object and whether it is new.

        Raises:
            Refusal: 409 for conflicts with other managers; 500 for a configuration that does not fit the schema, as
                the real server does; otherwise as `create` and `replace`.
        """
        wanted = without_nulls(config)
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
        faults = untyped(shape_of(resource), wanted)
        if faults:
            raise no_typed_patch(resource, wanted, faults)
        decode_fields(resource, wanted)
        narrow(resource, wanted, author.subresource)
        live = before if before is not None else blank(wanted)
        owner = self._owner(resource, author, "Apply")
        applied = apply(shape_of(resource), live, wanted, owner, force=force)
        after = applied.obj
        if before is None:
            self._be_born(resource, after)
        self._complete(resource, before, after)
        record(after, applied.owners)
        if before is None:
            return self._store(resource, after, dry_run=author.dry_run), True
        return self._settle(resource, before, after, dry_run=author.dry_run), False

    def set_status(self, resource: Resource, obj: Obj, status: Obj, manager: str) -> Obj:
        """Write the status of an object as a controller does; the same status changes nothing.

        Raises:
            Refusal: 404 when the object is gone.
        """
        if obj.get("status") == status:
            return obj
        before = self.store.get(_key(resource, obj))
        if resource.custom is None and before is not None:
            owner = self._owner(resource, Author(manager, subresource="status"), "Update")
            return self.store.put(resource.qualified, with_status(shape_of(resource), before, status, owner))
        author = Author(manager, subresource="status")
        body: Obj = {"metadata": {"name": name_of(obj)}, "status": status}
        return self.replace(resource, _key(resource, obj), body, author)

    def _owner(self, resource: Resource, author: Author, operation: Operation) -> Owner:
        now = stamp(self.clock)
        return Owner(author.manager, operation, resource.api_version, author.subresource, now, frozenset())

    def _be_born(self, resource: Resource, obj: Obj) -> None:
        if resource.custom is not None and resource.custom.terminating:
            why = "create not allowed while custom resource definition is terminating"
            raise Refusal(405, "MethodNotAllowed", why)
        obj["apiVersion"] = resource.stored_version
        metadata = obj["metadata"]
        for name in (*KEPT, "managedFields", "selfLink"):
            metadata.pop(name, None)
        metadata["uid"] = str(uuid4())
        metadata["creationTimestamp"] = stamp(self.clock)
        if resource.counted:
            metadata["generation"] = 1
        if resource.status:
            obj.pop("status", None)
            if resource.builtin:
                obj["status"] = {}

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
        complete(self.store, resource, before, after)
        self.admit(resource, before, after)

    def _settle(self, resource: Resource, before: Obj, after: Obj, *, dry_run: bool) -> Obj:
        after["apiVersion"] = resource.stored_version
        after["metadata"]["resourceVersion"] = before["metadata"]["resourceVersion"]
        if resource.counted and intent(resource, before) != intent(resource, after):
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
