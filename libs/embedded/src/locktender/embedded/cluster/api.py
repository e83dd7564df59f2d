"""The verbs on stored kinds, from a target and a body to an answer. Watches are in `watch`."""

from collections.abc import Callable

from locktender.embedded.cluster.calls import Answer, Call, warning
from locktender.embedded.cluster.cluster import Cluster
from locktender.embedded.cluster.deletion import delete, options
from locktender.embedded.cluster.listing import list_of, listing, selected
from locktender.embedded.cluster.objects import Key
from locktender.embedded.cluster.patching import serve_patch
from locktender.embedded.cluster.refusal import invalid, method_not_allowed, not_found
from locktender.embedded.cluster.request import Target, decode_object
from locktender.embedded.cluster.scale import scale_of, workload_body
from locktender.embedded.cluster.shapes import Obj, at, clone, name_of, namespace_of, uid_of
from locktender.embedded.cluster.versions import as_served


def serve(cluster: Cluster, call: Call) -> Answer:
    """Do what the call asks and answer.

    Raises:
        Refusal: for everything that is not a success; nothing was changed then.
    """
    serving = _VERBS.get(call.target.verb)
    if serving is None:
        raise method_not_allowed()
    answer = serving(cluster, call)
    resource = call.target.resource
    headers = answer.headers
    if resource.deprecation:
        headers = {**headers, **_joined(headers, warning([resource.deprecation]))}
    body = as_served(resource, answer.body) if resource.custom else answer.body
    return Answer(answer.code, body, headers, answer.submitted)


def _joined(one: dict[str, str], other: dict[str, str]) -> dict[str, str]:
    told = [text for text in (one.get("warning"), other.get("warning")) if text]
    return {"warning": ", ".join(told)} if told else {}


def _get(cluster: Cluster, call: Call) -> Answer:
    return Answer(200, _seen(call.target, _found(cluster, call)))


def _list(cluster: Cluster, call: Call) -> Answer:
    return Answer(200, listing(cluster, call))


def _found(cluster: Cluster, call: Call) -> Obj:
    obj = cluster.store.get(call.key)
    if obj is None:
        raise not_found(call.target.resource, call.target.name)
    return obj


def _seen(target: Target, obj: Obj) -> Obj:
    return scale_of(target.resource, obj) if target.subresource == "scale" else obj


def _create(cluster: Cluster, call: Call) -> Answer:
    body = decode_object(call.raw)
    headers = call.warned(body)
    obj = cluster.writer.create(call.target.resource, call.target.namespace, body, call.author())
    return Answer(201, obj, headers, body)


def _update(cluster: Cluster, call: Call) -> Answer:
    body = decode_object(call.raw)
    if call.target.subresource == "scale":
        return Answer(200, _write_scale(cluster, call, body), submitted=body)
    headers = call.warned(body)
    resource = call.target.resource
    if not resource.unconditional and not at(body, "metadata", "resourceVersion"):
        message = "Invalid value: 0x0: must be specified for an update"
        raise invalid(resource, call.target.name, [("metadata.resourceVersion", "FieldValueInvalid", message)])
    return Answer(200, cluster.writer.replace(resource, call.key, body, call.author()), headers, body)


def _write_scale(cluster: Cluster, call: Call, scale: Obj) -> Obj:
    resource = call.target.resource
    return scale_of(resource, cluster.writer.replace(resource, call.key, workload_body(scale), call.author()))


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
    rows = [clone(obj) for obj in selected(cluster, call)]
    for obj in rows:
        delete(cluster.writer, resource, Key(resource.qualified, namespace_of(obj), name_of(obj)), wanted)
    return Answer(200, list_of(resource, {"resourceVersion": str(cluster.store.version)}, rows))


_VERBS: dict[str, Callable[[Cluster, Call], Answer]] = {
    "get": _get,
    "list": _list,
    "create": _create,
    "update": _update,
    "patch": serve_patch,
    "delete": _delete,
    "deletecollection": _delete_all,
}
