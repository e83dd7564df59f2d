"""The patch formats of the internet: JSON merge patch and JSON patch."""

from typing import Any

from locktender.embedded.cluster.refusal import bad_request, rejected
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


def json_patch(target: Obj, operations: Any) -> Obj:
    """RFC 6902: add, remove, replace, test, copy and move.

    Raises:
        Refusal: 422 for an operation that is malformed or does not apply, and for a test that fails; 400 for what is
            no list of operations.
    """
    if not is_list(operations):
        raise bad_request("a JSON patch is a list of operations")
    box: Obj = {"root": clone(target)}
    for operation in operations:
        try:
            _operate(box, operation)
        except (AttributeError, KeyError, IndexError, TypeError, ValueError):
            what = f"{text_at(operation, 'op')} operation does not apply: {text_at(operation, 'path')}"
            raise rejected(what) from None
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
