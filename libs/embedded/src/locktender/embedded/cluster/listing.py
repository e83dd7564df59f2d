"""The verb `list`: which objects, of which version, in what portions."""

import base64
import binascii
import json

from locktender.embedded.cluster.calls import Call
from locktender.embedded.cluster.cluster import Cluster
from locktender.embedded.cluster.listoptions import check_list_options
from locktender.embedded.cluster.refusal import bad_request, continue_expired, expired, too_new
from locktender.embedded.cluster.resources import Resource
from locktender.embedded.cluster.selectors import selection
from locktender.embedded.cluster.shapes import Obj, name_of, namespace_of
from locktender.embedded.cluster.versions import as_served


def selected(cluster: Cluster, call: Call) -> list[Obj]:
    """The objects that a request is about, as they are stored.

    Raises:
        Refusal: 400 for a selector that cannot be read.
    """
    matches = selection(call.query.get("labelSelector", ""), call.query.get("fieldSelector", ""))
    rows = cluster.store.select(call.target.resource.qualified, call.target.namespace)
    return [obj for obj in rows if matches(obj)]


def listing(cluster: Cluster, call: Call) -> Obj:
    """The answer to a list.

    A further portion is of the version of the first one in name only: objects are told as they are now.

    Raises:
        Refusal: 400 and 422 for its parameters, 410 for a version that is not there any more, 504 for one that is not
            there yet.
    """
    check_list_options(call.query, watching=False)
    rows, version = selected(cluster, call), cluster.store.version
    _check_version(cluster, call.query)
    after = call.query.get("continue", "")
    if after:
        version, *place = _place(after)
        if cluster.store.since(version) is None:
            raise continue_expired()
        rows = [obj for obj in rows if [namespace_of(obj), name_of(obj)] > place]
    metadata: Obj = {"resourceVersion": str(version)}
    limit = call.query.get("limit", "")
    if limit.isdigit() and 0 < int(limit) < len(rows):
        metadata["remainingItemCount"] = len(rows) - int(limit)
        rows = rows[: int(limit)]
        last = json.dumps([version, namespace_of(rows[-1]), name_of(rows[-1])])
        metadata["continue"] = base64.urlsafe_b64encode(last.encode()).decode()
    return list_of(call.target.resource, metadata, rows)


def list_of(resource: Resource, metadata: Obj, rows: list[Obj]) -> Obj:
    """A list object around stored objects."""
    return {
        "kind": resource.list_kind,
        "apiVersion": resource.api_version,
        "metadata": metadata,
        "items": [_item(resource, row) for row in rows],
    }


def _item(resource: Resource, row: Obj) -> Obj:
    if resource.custom is not None:
        return as_served(resource, row)
    # Typed lists say once what their items are.
    return {name: value for name, value in row.items() if name not in ("kind", "apiVersion")}


def _check_version(cluster: Cluster, query: dict[str, str]) -> None:
    asked = query.get("resourceVersion", "")
    if not asked.isdigit() or asked == "0":
        return
    current = cluster.store.version
    if int(asked) > current:
        raise too_new(int(asked), current)
    # Old states are not kept, so one exact version can only be told while it is the present one.
    if query.get("resourceVersionMatch") == "Exact" and int(asked) != current:
        raise expired(int(asked), current)


def _place(token: str) -> tuple[int, str, str]:
    try:
        version, namespace, name = json.loads(base64.urlsafe_b64decode(token))
        return int(version), str(namespace), str(name)
    except (ValueError, TypeError, binascii.Error):
        raise bad_request("continue key is not valid") from None
