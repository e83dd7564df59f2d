"""The verb `patch`, in its four formats."""

from typing import Any

from locktender.embedded.cluster.calls import Answer, Call
from locktender.embedded.cluster.cluster import Cluster
from locktender.embedded.cluster.patches import json_patch, merge_patch
from locktender.embedded.cluster.refusal import Refusal, bad_request, not_found, unsupported_media
from locktender.embedded.cluster.request import decode, decode_object, is_on
from locktender.embedded.cluster.scale import scale_of, workload_body
from locktender.embedded.cluster.schema.shaping import shape_of
from locktender.embedded.cluster.shapes import Obj, is_obj
from locktender.embedded.cluster.strategic import strategic_patch
from locktender.embedded.cluster.versions import as_served

APPLY = "application/apply-patch+yaml"
MERGE = "application/merge-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
JSON_PATCH = "application/json-patch+json"


def serve_patch(cluster: Cluster, call: Call) -> Answer:
    """Patch one object.

    Raises:
        Refusal: 415 for a format that the kind does not take, 404, 409, 400 and 422 as for the verb `update`.
    """
    resource = call.target.resource
    # There is nothing that tells how the lists of a custom kind merge in this format.
    formats = (JSON_PATCH, MERGE, *((STRATEGIC,) if resource.builtin else ()), APPLY)
    if call.content_type not in formats:
        raise unsupported_media(call.content_type, formats)
    if call.content_type == APPLY:
        return _apply(cluster, call)
    live, patch = cluster.store.get(call.key), decode(call.raw)
    if live is None:
        raise not_found(resource, call.target.name)
    after = _patched(call, live, patch)
    submitted = patch if is_obj(patch) else {}
    if call.target.subresource == "scale":
        written = cluster.writer.replace(resource, call.key, workload_body(after), call.author())
        return Answer(200, scale_of(resource, written), submitted=submitted)
    headers = call.warned(after)
    return Answer(200, cluster.writer.replace(resource, call.key, after, call.author()), headers, submitted)


def _patched(call: Call, live: Obj, patch: Any) -> Obj:
    resource = call.target.resource
    before = scale_of(resource, live) if call.target.subresource == "scale" else as_served(resource, live)
    # The version that was read only counts when the patch itself names one.
    base = {**before, "metadata": {k: v for k, v in before["metadata"].items() if k != "resourceVersion"}}
    match call.content_type:
        case "application/merge-patch+json":
            after = merge_patch(base, patch)
        case "application/strategic-merge-patch+json":
            after = strategic_patch(shape_of(resource), base, patch)
        case _:
            # A test of the version must see it.
            after = json_patch(before, patch)
            if is_obj(after.get("metadata")) and not _names_version(patch):
                after["metadata"].pop("resourceVersion", None)
    if not is_obj(after):
        raise bad_request("a patch must leave an object")
    return after


def _names_version(patch: list[Obj]) -> bool:
    return any(operation.get("path") == "/metadata/resourceVersion" for operation in patch)


def _apply(cluster: Cluster, call: Call) -> Answer:
    config = decode_object(call.raw)
    if not call.query.get("fieldManager"):
        why = "fieldManager: Required value: is required for apply patch"
        raise Refusal(422, "Invalid", f'PatchOptions.meta.k8s.io "" is invalid: {why}')
    if call.target.subresource == "scale":
        raise unsupported_media(APPLY, (JSON_PATCH, MERGE))
    force = is_on(call.query, "force")
    obj, born = cluster.writer.apply(call.target.resource, call.key, config, call.author(), force=force)
    return Answer(201 if born else 200, obj, submitted=config)
