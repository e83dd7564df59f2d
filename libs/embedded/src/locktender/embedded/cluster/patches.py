"""The patch formats other than server-side apply: JSON merge patch, strategic merge, JSON patch."""

from typing import Any

from locktender.embedded.cluster.listkeys import AS_SET, Names, elements, key_of, keys_at
from locktender.embedded.cluster.refusal import bad_request
from locktender.embedded.cluster.shapes import Obj, clone, is_list, is_obj, text_at


def merge_patch(target: Any, patch: Any) -> Any:
    """RFC 7386."""
    if not is_obj(patch):
        return clone(patch)
    merged: Obj = clone(target) if is_obj(target) else {}
    for name, value in patch.items():
        if value is None:
            merged.pop(name, None)
        else:
            merged[name] = merge_patch(merged.get(name), value)
    return merged


def strategic_patch(kind: str, target: Any, patch: Any, names: Names = ()) -> Any:
    """Merge patch that also merges keyed lists; understands `$patch: delete` and `$patch: replace` in items and maps.

    Other directives (`$setElementOrder`, `$retainKeys`, `$deleteFromPrimitiveList`) are dropped without effect.
    """
    if is_list(patch):
        return _strategic_list(kind, target, patch, names)
    if not is_obj(patch):
        return clone(patch)
    wanted = {name: value for name, value in patch.items() if not name.startswith("$")}
    merged: Obj = clone(target) if is_obj(target) and patch.get("$patch") != "replace" else {}
    for name, value in wanted.items():
        if value is None:
            merged.pop(name, None)
        else:
            merged[name] = strategic_patch(kind, merged.get(name), value, (*names, name))
    return merged


def _strategic_list(kind: str, target: Any, patch: list[Any], names: Names) -> list[Any]:
    keys = keys_at(kind, names)
    live = elements(kind, names, target) if is_list(target) else {}
    if keys is None or live is None:
        return clone(patch)
    merged = dict(live)
    for item in patch:
        element = key_of(item, keys)
        if element is None:
            raise bad_request(f"map: {'.'.join(names)} does not contain declared merge key: {', '.join(keys)}")
        if keys == AS_SET:
            merged[element] = item
        elif text_at(item, "$patch") == "delete":
            merged.pop(element, None)
        else:
            merged[element] = strategic_patch(kind, merged.get(element), item, names)
    return list(merged.values())


def json_patch(target: Obj, operations: Any) -> Obj:
    """RFC 6902: add, remove, replace, test, copy and move.

    Raises:
        Refusal: 400 for a malformed operation or a path that is not there, and for a test that fails.
    """
    if not is_list(operations):
        raise bad_request("a JSON patch is a list of operations")
    box: Obj = {"root": clone(target)}
    for operation in operations:
        try:
            _operate(box, operation)
        except (AttributeError, KeyError, IndexError, TypeError, ValueError):
            what = f"{text_at(operation, 'op')} operation does not apply: {text_at(operation, 'path')}"
            raise bad_request(what) from None
    root = box["root"]
    if not is_obj(root):
        raise bad_request("a JSON patch must leave an object")
    return root


def _operate(box: Obj, operation: Obj) -> None:
    path = _steps(operation["path"])
    match operation["op"]:
        case "add":
            _insert(box, path, clone(operation["value"]))
        case "replace":
            _take(box, path)
            _insert(box, path, clone(operation["value"]))
        case "remove":
            _take(box, path)
        case "copy":
            _insert(box, path, clone(_look(box, _steps(operation["from"]))))
        case "move":
            _insert(box, path, _take(box, _steps(operation["from"])))
        case "test":
            if _look(box, path) != operation["value"]:
                raise ValueError(operation["path"])
        case other:
            raise ValueError(other)


def _steps(pointer: str) -> list[str]:
    return ["root", *(s.replace("~1", "/").replace("~0", "~") for s in pointer.split("/")[1:])]


def _look(box: Any, path: list[str]) -> Any:
    for step in path:
        box = box[int(step)] if is_list(box) else box[step]
    return box


def _insert(box: Any, path: list[str], value: Any) -> None:
    parent = _look(box, path[:-1])
    if is_list(parent):
        parent.insert(len(parent) if path[-1] == "-" else int(path[-1]), value)
    else:
        parent[path[-1]] = value


def _take(box: Any, path: list[str]) -> Any:
    parent = _look(box, path[:-1])
    return parent.pop(int(path[-1]) if is_list(parent) else path[-1])
