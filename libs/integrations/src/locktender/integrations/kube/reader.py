"""What can be asked of a cluster without changing it: discovery, get, list, watch."""

from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from dataclasses import dataclass
from http import HTTPStatus
from types import TracebackType
from typing import Self

import httpx

from locktender.contracts.deployments.wire import ObjectRef
from locktender.integrations.kube.access import ClusterAccess
from locktender.integrations.kube.errors import KubeNotFound, KubeUnknownKind
from locktender.integrations.kube.json_value import JsonObject, as_array, as_object, as_text
from locktender.integrations.kube.outages import not_json
from locktender.integrations.kube.resource import Resource, group_path, served
from locktender.integrations.kube.secrets import is_secret
from locktender.integrations.kube.status import Answer, Attempt, refusal
from locktender.integrations.kube.transport import Wire
from locktender.integrations.kube.watching import SILENCE_SECONDS, WatchEvent, watch_events

_PAGE = 500


@dataclass(frozen=True, slots=True)
class Listing:
    """Objects of one kind. Watch from `resource_version`. `complete` is False when the bound was met."""

    items: list[JsonObject]
    resource_version: str
    complete: bool


class KubeReader:
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
        await self.aclose()

    async def aclose(self) -> None:
        """Close every connection."""
        await self._wire.aclose()

    @property
    def access(self) -> ClusterAccess:
        """The cluster and the rights that it is asked with."""
        return self._access

    async def version(self) -> JsonObject:
        """What the server says it is. Raises `KubeError`."""
        answer = await self._wire.call("GET", "/version")
        return body_of(answer, Attempt("get", "the version of the cluster", "version"))

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
            listing = body_of(answer, Attempt("get", f"the kinds of {api_version}", "apis"))
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

    async def get(self, ref: ObjectRef, *, namespace: str | None = None) -> JsonObject | None:
        """The object, or None when it is not there. Raises `KubeError`, also for kinds that are not served."""
        resource = await self.resource_for(ref.api_version, ref.kind)
        place = self.namespace_of(resource, ref.namespace or namespace)
        answer = await self._wire.call("GET", resource.path(place, ref.name))
        if answer.code == HTTPStatus.NOT_FOUND:
            return None
        return body_of(answer, attempt_at("get", resource, place, ref))

    async def list(
        self,
        resource: Resource,
        namespace: str | None = None,
        *,
        label_selector: str | None = None,
        field_selector: str | None = None,
        at_most: int = 5_000,
        pick: Callable[[JsonObject], JsonObject | None] = lambda item: item,
    ) -> Listing:
        """The objects of a kind, page by page, at most `at_most`. Without a namespace, of all namespaces.

        `pick` says what is kept of each object, None for nothing; what it drops never takes up more than one page.

        Raises:
            WatchExpired: the pages took so long that the cluster forgot them; list again.
            KubeError: for every other refusal.
        """
        attempt = attempt_at("list", resource, namespace, None)
        params = _selection(label_selector, field_selector)
        items: list[JsonObject] = []
        while True:
            params["limit"] = str(min(_PAGE, at_most - len(items)))
            page = body_of(await self._wire.call("GET", resource.path(namespace), params=params), attempt)
            metadata = as_object(page.get("metadata"))
            new = [as_object(item) for item in as_array(page.get("items"))]
            for item in new:
                # Items of a list omit what the list says for all of them.
                item.setdefault("apiVersion", resource.api_version)
                item.setdefault("kind", resource.kind)
            items += [kept for item in new if (kept := pick(item)) is not None]
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
        silence_seconds: float = SILENCE_SECONDS,
    ) -> AsyncGenerator[WatchEvent]:
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
        attempt = attempt_at("watch", resource, namespace, None)
        path = resource.path(namespace)
        events = watch_events(self._wire, path, params, attempt, timeout_seconds, silence_seconds)
        async with aclosing(events):
            async for event in events:
                yield event


def body_of(answer: Answer, attempt: Attempt) -> JsonObject:
    """The object in a good answer.

    Raises:
        KubeError: what the answer amounts to, if it is not a good one.
    """
    if not httpx.codes.is_success(answer.code):
        raise refusal(answer, attempt)
    body = answer.json()
    if not body:
        raise not_json()
    return body


def attempt_at(verb: str, resource: Resource, namespace: str | None, ref: ObjectRef | None) -> Attempt:
    """What is being asked, in words. Without `ref`, of all objects of the kind."""
    secret = is_secret({"apiVersion": resource.api_version, "kind": resource.kind})
    what = f"{ref.kind} {ref.name}" if ref is not None else resource.plural
    return Attempt(verb, what, resource.plural, namespace, secret=secret)


def _selection(label_selector: str | None, field_selector: str | None) -> dict[str, str]:
    chosen = {"labelSelector": label_selector, "fieldSelector": field_selector}
    return {name: value for name, value in chosen.items() if value}
