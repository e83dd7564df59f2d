"""A thin asynchronous Kubernetes client: what `KubeReader` can ask, and server-side apply.

It never retries by itself (see `retrying`) and writes nothing to disk.
"""

import asyncio
import json
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum, StrEnum
from http import HTTPStatus
from typing import Literal, cast

from locktender.contracts.deployments.wire import ObjectRef
from locktender.integrations.kube.errors import KubeDenied, KubeNotFound, KubeUnavailable, Outage
from locktender.integrations.kube.json_value import JsonObject, as_object, as_text, copied
from locktender.integrations.kube.live import Live, live_of
from locktender.integrations.kube.ownership import Handover
from locktender.integrations.kube.reader import KubeReader, attempt_at, body_of
from locktender.integrations.kube.resource import Resource
from locktender.integrations.kube.stamps import MANAGER
from locktender.integrations.kube.status import Answer
from locktender.integrations.kube.warnings import warnings_of

FIELD_MANAGER = MANAGER
_APPLY_PATCH = "application/apply-patch+yaml"
_JSON_PATCH = "application/json-patch+json"


class Outcome(StrEnum):
    """What an apply did."""

    CREATED = "created"
    CHANGED = "changed"
    UNCHANGED = "unchanged"


class Absence(Enum):
    """Knowledge that an object was not there when it was looked for."""

    ABSENT = "absent"


ABSENT = Absence.ABSENT
Known = Live | Absence | None
"""What is known of an object before a write: as it was read, that it was not there, or nothing."""

Propagation = Literal["Foreground", "Background"]


@dataclass(frozen=True, slots=True)
class Applied:
    """The object as the cluster has it after an apply. `body` of a Secret holds its values: do not store it.

    `warnings` are the server's own words, at most ten; none for a Secret.
    """

    body: JsonObject
    outcome: Outcome
    live: Live
    warnings: tuple[str, ...] = ()


class KubeClient(KubeReader):
    """One cluster, read and written. See `KubeReader` for how to open it and for its timeouts.

    `seconds` of a write bounds the whole request, on both sides: the server is asked to give up by then as well, so
    that a write which was sent and never answered does not take effect much later. It is at most what the server
    allows, so it is no promise against a server that ignores it.
    """

    async def apply(
        self,
        manifest_body: Mapping[str, object],
        *,
        field_manager: str = FIELD_MANAGER,
        force: bool = False,
        dry_run: bool = False,
        namespace: str | None = None,
        known: Known = None,
        resource_version: str | None = None,
        seconds: float | None = None,
    ) -> Applied:
        """Server-side apply of one object, with unknown fields refused. Safe to repeat.

        With `resource_version`, a write that comes after another one is refused. For an object that does not exist,
        server-side apply knows no such precondition: a late write then creates it, or changes what somebody else
        created in the meantime. Bound that by `seconds`.

        Args:
            manifest_body: the object; its own namespace wins over `namespace`.
            field_manager: in whose name the fields are owned.
            force: take fields over from other managers instead of raising `KubeConflict`.
            dry_run: let the cluster check everything and change nothing.
            namespace: for objects that name none.
            known: the object as it was read, which saves reading it again to tell what changed.
            resource_version: apply only to exactly this version of the object, else raise `KubeConflict`.
            seconds: for the write, in all. None: as long as any answer may take.

        Returns:
            The object and what happened to it, our stamps aside. `changed` may also be somebody else's change since
            `known` was read.

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
        before = known if known is not None else await self._known(ref, place)
        params = {
            "fieldManager": field_manager,
            "force": "true" if force else "false",
            "fieldValidation": "Strict",
        }
        if dry_run:
            params["dryRun"] = "All"
        answer = await self._write("PATCH", resource.path(place, ref.name), body, _APPLY_PATCH, params, seconds)
        attempt = attempt_at("patch", resource, place, ref)
        after = body_of(answer, attempt)
        live = live_of(after)
        warnings = () if attempt.secret else warnings_of(answer.warnings)
        return Applied(after, _outcome(answer, before, live), live, warnings)

    async def hand_over(
        self, ref: ObjectRef, change: Handover, *, namespace: str | None = None, seconds: float | None = None
    ) -> JsonObject:
        """Change who owns which field of an object, and nothing else. Returns the object.

        Raises:
            KubeConflict: the object has changed since it was read; read it again.
            KubeError: for every other refusal.
        """
        resource, place = await self._placed(ref, namespace)
        # `replace` of the version, where `test` would come back as an invalid request instead of a conflict.
        patch = [
            {"op": "replace", "path": "/metadata/managedFields", "value": change.managed_fields},
            {"op": "replace", "path": "/metadata/resourceVersion", "value": change.resource_version},
        ]
        params = {"fieldManager": FIELD_MANAGER}
        answer = await self._write("PATCH", resource.path(place, ref.name), patch, _JSON_PATCH, params, seconds)
        return body_of(answer, attempt_at("patch", resource, place, ref))

    async def delete(
        self,
        ref: ObjectRef,
        *,
        uid: str,
        resource_version: str | None = None,
        propagation: Propagation = "Background",
        namespace: str | None = None,
        seconds: float | None = None,
    ) -> bool:
        """Ask for the deletion of exactly the object with this `uid`. Whether it was still there.

        It exists for one purpose: to replace an object that cannot be changed, where the request for the deployment
        says so for its kind. Nothing else deletes anything. The object may linger on after it (finalizers).

        Raises:
            KubeConflict: the name belongs to another object by now, or the object is no longer at `resource_version`.
            KubeError: for every other refusal.
        """
        resource, place = await self._placed(ref, namespace)
        conditions = {"uid": uid} | ({"resourceVersion": resource_version} if resource_version else {})
        options = {
            "apiVersion": "v1", "kind": "DeleteOptions", "propagationPolicy": propagation, "preconditions": conditions,
        }  # fmt: skip
        answer = await self._write("DELETE", resource.path(place, ref.name), options, "application/json", {}, seconds)
        try:
            body_of(answer, attempt_at("delete", resource, place, ref))
        except KubeNotFound:
            return False
        return True

    async def _placed(self, ref: ObjectRef, namespace: str | None) -> tuple[Resource, str | None]:
        resource = await self.resource_for(ref.api_version, ref.kind)
        return resource, self.namespace_of(resource, ref.namespace or namespace)

    async def _known(self, ref: ObjectRef, namespace: str | None) -> Known:
        try:
            found = await self.get(ref, namespace=namespace)
        except KubeDenied:
            # An account that may write and not read still applies; what it finds there counts as changed.
            return None
        return ABSENT if found is None else live_of(found)

    async def _write(
        self, method: str, path: str, body: object, content_type: str, params: dict[str, str], seconds: float | None
    ) -> Answer:
        content = json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode()
        asked = params if seconds is None else params | {"timeout": f"{max(int(seconds * 1000), 1)}ms"}
        try:
            async with asyncio.timeout(seconds):
                return await self._wire.call(method, path, params=asked, content=content, content_type=content_type)
        except TimeoutError:
            raise KubeUnavailable(f"the cluster did not answer a write within {seconds:g} s", Outage.TIMEOUT) from None


def _outcome(answer: Answer, before: Known, after: Live) -> Outcome:
    if answer.code == HTTPStatus.CREATED:
        return Outcome.CREATED
    same = isinstance(before, Live) and before.digest == after.digest
    return Outcome.UNCHANGED if same else Outcome.CHANGED


def _ref(body: JsonObject) -> ObjectRef:
    metadata = as_object(body.get("metadata"))
    return ObjectRef(
        api_version=as_text(body.get("apiVersion")),
        kind=as_text(body.get("kind")),
        namespace=as_text(metadata.get("namespace")) or None,
        name=as_text(metadata.get("name")),
    )
