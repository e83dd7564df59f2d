"""What goes away once the fields of other managers are ours: foretold, because a dry run cannot hand over ownership."""

import json
from collections.abc import Sequence

from locktender.integrations.kube.json_value import Json, JsonObject, as_array, as_object, copied
from locktender.integrations.kube.ownership import Handover

# In `fieldsV1`: `f:name` is a member, `k:{…}` an item of a list by its keys, `v:…` an item of a set; `.` marks a node
# that is owned itself.
_MEMBER, _KEYED, _VALUE, _ITSELF = "f:", "k:", "v:", "."


def without_leaving(after: JsonObject, sent: JsonObject, given: Handover) -> JsonObject:
    """A copy of `after` without what is going to be ours alone and is not in `sent`.

    What the server fills in again by a default is not foretold.
    """
    ours, *others = [as_object(as_object(entry).get("fieldsV1")) for entry in given.managed_fields]
    return as_object(_left(copied(after), sent, ours, others))


def _left(after: Json, sent: Json, ours: JsonObject, others: Sequence[JsonObject]) -> Json:
    if isinstance(after, dict):
        return _object_left(after, as_object(sent), ours, others)
    if isinstance(after, list):
        return _list_left(after, as_array(sent), ours, others)
    return after


def _object_left(after: JsonObject, sent: JsonObject, ours: JsonObject, others: Sequence[JsonObject]) -> JsonObject:
    for element, node in ours.items():
        name = element.removeprefix(_MEMBER)
        if not element.startswith(_MEMBER) or name not in after:
            continue
        inner, theirs = as_object(node), _inside(others, element)
        value = after[name] = _left(after[name], sent.get(name), inner, theirs)
        gone = name not in sent and not theirs and (_is_leaf(inner) or not value)
        if gone:
            del after[name]
    return after


def _list_left(after: list[Json], sent: list[Json], ours: JsonObject, others: Sequence[JsonObject]) -> list[Json]:
    kept: list[Json] = []
    for item in after:
        element = next((each for each in ours if _means(each, item)), None)
        if element is None:
            kept.append(item)
            continue
        same = next((each for each in sent if _means(element, each)), None)
        theirs = _inside(others, element)
        if same is not None or theirs:
            kept.append(_left(item, same, as_object(ours[element]), theirs))
    return kept


def _means(element: str, item: Json) -> bool:
    if element.startswith(_KEYED):
        keys = _json(element.removeprefix(_KEYED))
        return (
            isinstance(keys, dict)
            and isinstance(item, dict)
            and all(_default(name, item.get(name)) == value for name, value in keys.items())
        )
    return element.startswith(_VALUE) and _json(element.removeprefix(_VALUE)) == item


def _default(name: str, value: Json) -> Json:
    """Keys that manifests may leave out."""
    return "TCP" if name == "protocol" and value is None else value


def _inside(nodes: Sequence[JsonObject], element: str) -> list[JsonObject]:
    return [as_object(node[element]) for node in nodes if element in node]


def _is_leaf(node: JsonObject) -> bool:
    return not any(element != _ITSELF for element in node)


def _json(text: str) -> Json:
    try:
        return json.loads(text)
    except ValueError:
        return None
