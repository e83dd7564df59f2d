"""The verbs on stored kinds, from a target and a body to an answer. Watches are in `watch`."""

import base64
import binascii
import json
from collections.abc import Callable
from dataclasses import dataclass, field

from locktender.embedded.cluster.cluster import Cluster
from locktender.embedded.cluster.deletion import delete, options
from locktender.embedded.cluster.objects import Key
from locktender.embedded.cluster.patches import json_patch, merge_patch, strategic_patch
from locktender.embedded.cluster.refusal import (
    Refusal,
    bad_request,
    method_not_allowed,
    not_found,
    unsupported_media,
)
from locktender.embedded.cluster.request import Target, decode, decode_object, is_on
from locktender.embedded.cluster.resources import Resource
from locktender.embedded.cluster.scale import scale_of, workload_body
from locktender.embedded.cluster.selectors import selection
from locktender.embedded.cluster.shapes import Obj, clone, is_obj, name_of, namespace_of, uid_of
from locktender.embedded.cluster.strictness import check_fields, strictness
from locktender.embedded.cluster.writes import Author

APPLY = "application/apply-patch+yaml"
MERGE = "application/merge-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
JSON_PATCH = "application/json-patch+json"
_PATCHES = (JSON_PATCH, MERGE, STRATEGIC, APPLY)


@dataclass(frozen=True, slots=True)
class Answer:
    """A complete answer. `submitted` is the object as the client sent it, for the ledger."""

    code: int
    body: Obj
    headers: dict[str, str] = field(default_factory=dict[str, str])
    submitted: Obj = field(default_factory=dict[str, object])


@dataclass(frozen=True, slots=True)
class Call:
    """A request that is allowed, with its parameters and body."""

    target: Target
    query: dict[str, str]
    content_type: str
    agent: str
    raw: bytes

    @property
    def key(self) -> Key:
        return Key(self.target.resource.qualified, self.target.namespace, self.target.name)

    def author(self) -> Author:
        manager = self.query.get("fieldManager") or self.agent.split("/")[0] or "unknown"
        return Author(manager[:128], self.target.subresource, dry_run=is_dry(self.query))


def is_dry(query: dict[str, str]) -> bool:
    """Pass, or refuse.

    Raises:
        Refusal: 400 for a dry run other than `All`.
    """
    wanted = query.get("dryRun", "")
    if wanted not in ("", "All"):
        raise bad_request(f"dryRun {wanted[:40]} is not All")
    return wanted == "All"


def serve(cluster: Cluster, call: Call) -> Answer:
    """Do what the call asks and answer.

    Raises:
        Refusal: for everything that is not a success; nothing was changed then.
    """
    serving = _VERBS.get(call.target.verb)
    if serving is None:
        raise method_not_allowed()
    return serving(cluster, call)


def _get(cluster: Cluster, call: Call) -> Answer:
    return Answer(200, _seen(call.target, _found(cluster, call)))


def _list(cluster: Cluster, call: Call) -> Answer:
    return Answer(200, _listing(cluster, call))


def _found(cluster: Cluster, call: Call) -> Obj:
    obj = cluster.store.get(call.key)
    if obj is None:
        raise not_found(call.target.resource, call.target.name)
    return obj


def _seen(target: Target, obj: Obj) -> Obj:
    return scale_of(obj) if target.subresource == "scale" else obj


def _selected(cluster: Cluster, call: Call) -> list[Obj]:
    matches = selection(call.query.get("labelSelector", ""), call.query.get("fieldSelector", ""))
    rows = cluster.store.select(call.target.resource.qualified, call.target.namespace)
    return [obj for obj in rows if matches(obj)]


def _listing(cluster: Cluster, call: Call) -> Obj:
    rows = _selected(cluster, call)
    metadata: Obj = {"resourceVersion": str(cluster.store.version)}
    after = call.query.get("continue", "")
    if after:
        place = _place(after)
        rows = [obj for obj in rows if (namespace_of(obj), name_of(obj)) > place]
    limit = call.query.get("limit", "")
    if limit.isdigit() and 0 < int(limit) < len(rows):
        metadata["remainingItemCount"] = len(rows) - int(limit)
        rows = rows[: int(limit)]
        last = json.dumps([namespace_of(rows[-1]), name_of(rows[-1])])
        metadata["continue"] = base64.urlsafe_b64encode(last.encode()).decode()
    return _list_of(call.target.resource, metadata, rows)


def _list_of(resource: Resource, metadata: Obj, rows: list[Obj]) -> Obj:
    return {
        "kind": f"{resource.kind}List",
        "apiVersion": resource.api_version,
        "metadata": metadata,
        "items": rows,
    }


def _place(token: str) -> tuple[str, str]:
    try:
        namespace, name = json.loads(base64.urlsafe_b64decode(token))
    except (ValueError, TypeError, binascii.Error):
        raise bad_request("continue key is not valid") from None
    return str(namespace), str(name)


def _warned(call: Call, body: Obj) -> dict[str, str]:
    warnings = check_fields(call.target.resource, body, strictness(call.query))
    told = ", ".join(f'299 - "{text}"'.replace('field "', 'field \\"').replace('""', '\\""') for text in warnings)
    return {"warning": told} if told else {}


def _create(cluster: Cluster, call: Call) -> Answer:
    body = decode_object(call.raw)
    headers = _warned(call, body)
    obj = cluster.writer.create(call.target.resource, call.target.namespace, body, call.author())
    return Answer(201, obj, headers, body)


def _update(cluster: Cluster, call: Call) -> Answer:
    body = decode_object(call.raw)
    if call.target.subresource == "scale":
        return Answer(200, _write_scale(cluster, call, body), submitted=body)
    headers = _warned(call, body)
    obj = cluster.writer.replace(call.target.resource, call.key, body, call.author())
    return Answer(200, obj, headers, body)


def _write_scale(cluster: Cluster, call: Call, scale: Obj) -> Obj:
    return scale_of(cluster.writer.replace(call.target.resource, call.key, workload_body(scale), call.author()))


def _patch(cluster: Cluster, call: Call) -> Answer:
    if call.content_type == APPLY:
        return _apply(cluster, call)
    if call.content_type not in _PATCHES:
        raise unsupported_media(call.content_type, _PATCHES)
    live, patch = _found(cluster, call), decode(call.raw)
    before = _seen(call.target, live)
    # The version that was read only counts when the patch itself names one.
    base = {**before, "metadata": {k: v for k, v in before["metadata"].items() if k != "resourceVersion"}}
    match call.content_type:
        case "application/merge-patch+json":
            after = merge_patch(base, patch)
        case "application/strategic-merge-patch+json":
            after = strategic_patch(call.target.resource.kind, base, patch)
        case _:
            after = json_patch(base, patch)
    if not is_obj(after):
        raise bad_request("a patch must leave an object")
    submitted = patch if is_obj(patch) else {}
    if call.target.subresource == "scale":
        return Answer(200, _write_scale(cluster, call, after), submitted=submitted)
    headers = _warned(call, after)
    obj = cluster.writer.replace(call.target.resource, call.key, after, call.author())
    return Answer(200, obj, headers, submitted)


def _apply(cluster: Cluster, call: Call) -> Answer:
    config = decode_object(call.raw)
    if not call.query.get("fieldManager"):
        why = "fieldManager: Required value: is required for apply patch"
        raise Refusal(422, "Invalid", f'PatchOptions.meta.k8s.io "" is invalid: {why}')
    if call.target.subresource == "scale":
        raise unsupported_media(APPLY, (JSON_PATCH, MERGE))
    headers = _warned(call, config)
    force = is_on(call.query, "force")
    obj, born = cluster.writer.apply(call.target.resource, call.key, config, call.author(), force=force)
    return Answer(201 if born else 200, obj, headers, config)


def _delete(cluster: Cluster, call: Call) -> Answer:
    body = decode_object(call.raw)
    resource = call.target.resource
    obj, gone = delete(cluster.writer, resource, call.key, options(call.query, body))
    if not gone:
        return Answer(200, obj)
    details = {"name": name_of(obj), "group": resource.group, "kind": resource.plural, "uid": uid_of(obj)}
    status: Obj = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": details}
    return Answer(200, status)


def _delete_all(cluster: Cluster, call: Call) -> Answer:
    wanted = options(call.query, decode_object(call.raw))
    resource = call.target.resource
    rows = [clone(obj) for obj in _selected(cluster, call)]
    for obj in rows:
        delete(cluster.writer, resource, Key(resource.qualified, namespace_of(obj), name_of(obj)), wanted)
    return Answer(200, _list_of(resource, {"resourceVersion": str(cluster.store.version)}, rows))


_VERBS: dict[str, Callable[[Cluster, Call], Answer]] = {
    "get": _get,
    "list": _list,
    "create": _create,
    "update": _update,
    "patch": _patch,
    "delete": _delete,
    "deletecollection": _delete_all,
}
