"""A thin asynchronous Kubernetes client: discovery, server-side apply, get, list, watch.

It never retries by itself (see `retrying`), never deletes, and writes nothing to disk.
"""

import json
from collections.abc import AsyncIterator, Collection, Mapping
from dataclasses import dataclass
from enum import StrEnum
from http import HTTPStatus
from types import TracebackType
from typing import Self, cast

import httpx

from locktender.contracts.deployments.models import ObjectRef
from locktender.integrations.kube.access import ClusterAccess
from locktender.integrations.kube.errors import KubeDenied, KubeNotFound, KubeUnavailable, KubeUnknownKind, Outage
from locktender.integrations.kube.json_value import JsonObject, as_array, as_object, as_text, copied
from locktender.integrations.kube.resource import Resource, group_path, served
from locktender.integrations.kube.secrets import is_secret
from locktender.integrations.kube.status import Answer, Attempt, refusal
from locktender.integrations.kube.transport import Wire
from locktender.integrations.kube.watching import WatchEvent, watch_events

FIELD_MANAGER = "locktender"
_APPLY_PATCH = "application/apply-patch+yaml"
_PAGE = 500


class Outcome(StrEnum):
    """What an apply did."""

    CREATED = "created"
    CHANGED = "changed"
    UNCHANGED = "unchanged"


@dataclass(frozen=True, slots=True)
class Applied:
    """The object as the cluster has it after an apply. `body` of a Secret holds its values: do not store it."""

    body: JsonObject
    outcome: Outcome


@dataclass(frozen=True, slots=True)
class Listing:
    """Objects of one kind. Watch from `resource_version`. `complete` is False when the bound was met."""

    items: list[JsonObject]
    resource_version: str
    complete: bool


class KubeClient:
    """One cluster. Enter it as an asynchronous context manager; it closes its connections on leaving.

    Timeouts are in seconds: `connect_seconds` to get a connection, `read_seconds` between bytes, and no answer may
    take longer than the former plus twice the latter. Answers beyond `body_limit` bytes are refused.
    """

    def __init__(
        self,
        access: ClusterAccess,
        *,
        connect_seconds: float = 5.0,
        read_seconds: float = 30.0,
        body_limit: int = 16 * 1024 * 1024,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        self._access = access
        self._wire = Wire(
            access,
            connect_seconds=connect_seconds,
            read_seconds=read_seconds,
            body_limit=body_limit,
            transport=transport,
        )
        self._served: dict[str, dict[str, Resource]] = {}

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._wire.aclose()

    async def version(self) -> JsonObject:
        """What the server says it is. Raises `KubeError`."""
        answer = await self._wire.call("GET", "/version")
        return self._success(answer, Attempt("get", "the version of the cluster", "version"))

    async def resource_for(self, api_version: str, kind: str) -> Resource:
        """How the cluster serves a kind. What is known is remembered; a miss is looked up anew, once.

        Raises:
            KubeUnknownKind: the cluster does not serve it.
            KubeError: the cluster did not answer the question.
        """
        known = self._served.get(api_version, {}).get(kind)
        if known is not None:
            return known
        answer = await self._wire.call("GET", group_path(api_version))
        try:
            listing = self._success(answer, Attempt("get", f"the kinds of {api_version}", "apis"))
        except KubeNotFound:
            raise KubeUnknownKind(api_version, kind) from None
        self._served[api_version] = served(api_version, listing)
        found = self._served[api_version].get(kind)
        if found is None:
            raise KubeUnknownKind(api_version, kind)
        return found

    def namespace_of(self, resource: Resource, namespace: str | None) -> str | None:
        """Where an object goes: None for kinds without namespaces, else the given one, the context's, or `default`."""
        if not resource.namespaced:
            return None
        return namespace or self._access.namespace or "default"

    async def apply(
        self,
        manifest_body: Mapping[str, object],
        *,
        field_manager: str = FIELD_MANAGER,
        force: bool = False,
        dry_run: bool = False,
        namespace: str | None = None,
        resource_version: str | None = None,
        bookkeeping: Collection[str] = (),
    ) -> Applied:
        """Server-side apply of one object, with unknown fields refused. Safe to repeat.

        Args:
            manifest_body: the object; its own namespace wins over `namespace`.
            field_manager: in whose name the fields are owned.
            force: take fields over from other managers instead of raising `KubeConflict`.
            dry_run: let the cluster check everything and change nothing.
            namespace: for objects that name none.
            resource_version: apply only to exactly this version of the object, else raise `KubeConflict`.
            bookkeeping: annotations that do not count as a change of the object.

        Returns:
            The object and what happened to it. `changed` may also be somebody else's change at the same moment.

        Raises:
            KubeError: nothing was applied, except after `KubeUnavailable`, when that is unknown.
        """
        body = as_object(copied(cast("JsonObject", dict(manifest_body))))
        ref = _ref(body)
        resource = await self.resource_for(ref.api_version, ref.kind)
        place = self.namespace_of(resource, ref.namespace or namespace)
        metadata = as_object(body.get("metadata"))
        if place is not None:
            metadata["namespace"] = place
        if resource_version is not None:
            metadata["resourceVersion"] = resource_version
        before = await self._before(resource, place, ref)
        params = {
            "fieldManager": field_manager,
            "force": "true" if force else "false",
            "fieldValidation": "Strict",
        }
        if dry_run:
            params["dryRun"] = "All"
        answer = await self._wire.call(
            "PATCH",
            resource.path(place, ref.name),
            params=params,
            content=json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode(),
            content_type=_APPLY_PATCH,
        )
        after = self._success(answer, _attempt("patch", resource, place, ref))
        if before is None or answer.code == HTTPStatus.CREATED:
            return Applied(after, Outcome.CREATED)
        same = _stable(before, bookkeeping) == _stable(after, bookkeeping)
        return Applied(after, Outcome.UNCHANGED if same else Outcome.CHANGED)

    async def get(self, ref: ObjectRef, *, namespace: str | None = None) -> JsonObject | None:
        """The object, or None when it is not there. Raises `KubeError`, also for kinds that are not served."""
        resource = await self.resource_for(ref.api_version, ref.kind)
        return await self._read(resource, self.namespace_of(resource, ref.namespace or namespace), ref)

    async def list(
        self,
        resource: Resource,
        namespace: str | None = None,
        *,
        label_selector: str | None = None,
        field_selector: str | None = None,
        at_most: int = 5_000,
    ) -> Listing:
        """The objects of a kind, page by page, at most `at_most`. Without a namespace, of all namespaces.

        Raises:
            WatchExpired: the pages took so long that the cluster forgot them; list again.
            KubeError: for every other refusal.
        """
        attempt = _attempt("list", resource, namespace, None)
        params = _selection(label_selector, field_selector)
        items: list[JsonObject] = []
        while True:
            params["limit"] = str(min(_PAGE, at_most - len(items)))
            page = self._success(await self._wire.call("GET", resource.path(namespace), params=params), attempt)
            metadata = as_object(page.get("metadata"))
            new = [as_object(item) for item in as_array(page.get("items"))]
            for item in new:
                # Items of a list omit what the list says for all of them.
                item.setdefault("apiVersion", resource.api_version)
                item.setdefault("kind", resource.kind)
            items += new
            further = as_text(metadata.get("continue"))
            if not further or not new or len(items) >= at_most:
                return Listing(items[:at_most], as_text(metadata.get("resourceVersion")), complete=not further)
            params["continue"] = further

    async def watch(
        self,
        resource: Resource,
        namespace: str | None = None,
        *,
        resource_version: str,
        label_selector: str | None = None,
        field_selector: str | None = None,
        timeout_seconds: int = 60,
    ) -> AsyncIterator[WatchEvent]:
        """Changes after `resource_version`, bookmarks included, for about `timeout_seconds`; then it simply ends.

        Close it with `contextlib.aclosing` when leaving early. After any end, list and watch again.

        Raises:
            WatchExpired: the version is too old; list again.
            KubeError: the cluster refused, or the stream broke or fell silent.
        """
        params = _selection(label_selector, field_selector) | {
            "watch": "true",
            "allowWatchBookmarks": "true",
            "resourceVersion": resource_version,
            "timeoutSeconds": str(timeout_seconds),
        }
        attempt = _attempt("watch", resource, namespace, None)
        async for event in watch_events(self._wire, resource.path(namespace), params, attempt, timeout_seconds):
            yield event

    async def _before(self, resource: Resource, namespace: str | None, ref: ObjectRef) -> JsonObject | None:
        try:
            return await self._read(resource, namespace, ref)
        except KubeDenied:
            # An account that may write and not read still applies; what it finds there counts as changed.
            return {}

    async def _read(self, resource: Resource, namespace: str | None, ref: ObjectRef) -> JsonObject | None:
        answer = await self._wire.call("GET", resource.path(namespace, ref.name))
        if answer.code == HTTPStatus.NOT_FOUND:
            return None
        return self._success(answer, _attempt("get", resource, namespace, ref))

    @staticmethod
    def _success(answer: Answer, attempt: Attempt) -> JsonObject:
        if not httpx.codes.is_success(answer.code):
            raise refusal(answer, attempt)
        body = answer.json()
        if not body:
            raise KubeUnavailable("the cluster's answer is not JSON; check the server URL", Outage.BROKEN)
        return body


def _ref(body: JsonObject) -> ObjectRef:
    metadata = as_object(body.get("metadata"))
    return ObjectRef(
        api_version=as_text(body.get("apiVersion")),
        kind=as_text(body.get("kind")),
        namespace=as_text(metadata.get("namespace")) or None,
        name=as_text(metadata.get("name")),
    )


def _attempt(verb: str, resource: Resource, namespace: str | None, ref: ObjectRef | None) -> Attempt:
    secret = is_secret({"apiVersion": resource.api_version, "kind": resource.kind})
    what = f"{ref.kind} {ref.name}" if ref is not None else resource.plural
    return Attempt(verb, what, resource.plural, namespace, secret=secret)


def _selection(label_selector: str | None, field_selector: str | None) -> dict[str, str]:
    chosen = {"labelSelector": label_selector, "fieldSelector": field_selector}
    return {name: value for name, value in chosen.items() if value}


def _stable(body: JsonObject, bookkeeping: Collection[str]) -> JsonObject:
    """`body` without what a dry run, another writer's heartbeat or our own bookkeeping changes."""
    metadata: JsonObject = {
        key: value
        for key, value in as_object(body.get("metadata")).items()
        if key not in {"managedFields", "resourceVersion", "generation"}
    }
    metadata["annotations"] = {
        key: value for key, value in as_object(metadata.get("annotations")).items() if key not in bookkeeping
    }
    stable: JsonObject = {key: value for key, value in body.items() if key != "status"}
    stable["metadata"] = metadata
    return stable
