"""JSON values, and how to look into them without believing what they claim to be.

Stored objects are shared and never changed in place: whoever wants another version clones first.
"""

from typing import Any, TypeAlias, TypeGuard, cast

Obj: TypeAlias = dict[str, Any]
"""A JSON object. Values are whatever a client sent."""


def is_obj(value: object) -> TypeGuard[Obj]:
    return isinstance(value, dict)


def is_list(value: object) -> TypeGuard[list[Any]]:
    return isinstance(value, list)


def at(value: object, *path: str) -> Any:
    """The value under `path`, or None when any step is missing."""
    for step in path:
        if not is_obj(value):
            return None
        value = value.get(step)
    return value


def obj_at(value: object, *path: str) -> Obj:
    """The object under `path`, or a new empty one (which is not attached) when there is none."""
    found = at(value, *path)
    return found if is_obj(found) else {}


def list_at(value: object, *path: str) -> list[Any]:
    found = at(value, *path)
    return found if is_list(found) else []


def objs_at(value: object, *path: str) -> list[Obj]:
    """The objects of the list under `path`; anything else in it is skipped."""
    return [item for item in list_at(value, *path) if is_obj(item)]


def text_at(value: object, *path: str) -> str:
    found = at(value, *path)
    return found if isinstance(found, str) else ""


def int_at(value: object, *path: str, default: int = 0) -> int:
    found = at(value, *path)
    return found if isinstance(found, int) and not isinstance(found, bool) else default


def own(parent: Obj, *path: str) -> Obj:
    """The object under `path`, created and attached on the way where it is missing."""
    for step in path:
        child = parent.get(step)
        if not is_obj(child):
            child = cast("Obj", {})
            parent[step] = child
        parent = child
    return parent


def clone(value: Any) -> Any:
    """A deep copy of a JSON value."""
    if is_obj(value):
        return {name: clone(item) for name, item in value.items()}
    if is_list(value):
        return [clone(item) for item in value]
    return value


def name_of(obj: Obj) -> str:
    return text_at(obj, "metadata", "name")


def namespace_of(obj: Obj) -> str:
    return text_at(obj, "metadata", "namespace")


def uid_of(obj: Obj) -> str:
    return text_at(obj, "metadata", "uid")


def labels_of(obj: Obj) -> Obj:
    return obj_at(obj, "metadata", "labels")


def is_going(obj: Obj) -> bool:
    """Whether the object has been deleted and only waits for its finalizers."""
    return bool(at(obj, "metadata", "deletionTimestamp"))
