"""Strategic merge patches: merge patches that also merge the keyed lists of the standard kinds.

The directives `$patch` (delete, replace, merge), `$retainKeys`, `$deleteFromPrimitiveList/…` and
`$setElementOrder/…` are followed; others have no effect.
"""

from typing import Any

from locktender.embedded.cluster.listkeys import AS_SET, Names, Shape, key_of, keyed
from locktender.embedded.cluster.refusal import bad_request
from locktender.embedded.cluster.shapes import Obj, clone, is_list, is_obj, text_at

_ORDER = "$setElementOrder/"
_TAKE = "$deleteFromPrimitiveList/"


def strategic_patch(shape: Shape, target: Any, patch: Any, names: Names = ()) -> Any:
    """The patched value.

    Raises:
        Refusal: 400 for a list item without the key that its list merges by.
    """
    if is_list(patch):
        return _list(shape, target, patch, names)
    if not is_obj(patch):
        return clone(patch)
    directive = text_at(patch, "$patch")
    merged: Obj = clone(target) if is_obj(target) and directive != "replace" else {}
    if directive == "delete":
        return {}
    for name, value in patch.items():
        if name.startswith("$"):
            continue
        if value is None:
            merged.pop(name, None)
        else:
            merged[name] = strategic_patch(shape, merged.get(name), value, (*names, name))
    _direct(shape, merged, patch, names)
    return merged


def _direct(shape: Shape, merged: Obj, patch: Obj, names: Names) -> None:
    for directive, value in patch.items():
        if not is_list(value):
            continue
        if directive.startswith(_TAKE):
            name = directive.removeprefix(_TAKE)
            if is_list(merged.get(name)):
                merged[name] = [item for item in merged[name] if item not in value]
        elif directive.startswith(_ORDER):
            name = directive.removeprefix(_ORDER)
            if is_list(merged.get(name)):
                merged[name] = _ordered(shape, (*names, name), merged[name], value)
        elif directive == "$retainKeys":
            for name in [name for name in merged if name not in value]:
                merged.pop(name)


def _list(shape: Shape, target: Any, patch: list[Any], names: Names) -> list[Any]:
    keys = shape.patch_keys_at(names)
    if keys is None or any(text_at(item, "$patch") == "replace" for item in patch):
        return [clone(item) for item in patch if text_at(item, "$patch") != "replace" or len(item) > 1]
    if keys == AS_SET:
        live = target if is_list(target) else []
        return [*live, *(clone(item) for item in patch if item not in live)]
    live = keyed(shape, names, target, keys) if is_list(target) else {}
    if live is None:
        return _loose(shape, target, patch, names, keys)
    merged = dict(live)
    for item in patch:
        element = _element(shape, names, item, keys)
        if text_at(item, "$patch") == "delete":
            merged.pop(element, None)
        else:
            merged[element] = strategic_patch(shape, merged.get(element), item, names)
    return list(merged.values())


def _loose(shape: Shape, target: list[Any], patch: list[Any], names: Names, keys: tuple[str, ...]) -> list[Any]:
    """Merge into a list that has a key twice (two ports with one number): each patch meets the first that has it."""
    merged: list[Any] = [clone(item) for item in target]
    for item in patch:
        element = _element(shape, names, item, keys)
        place = next((n for n, known in enumerate(merged) if key_of(known, keys) == element), None)
        if text_at(item, "$patch") == "delete":
            merged = [known for known in merged if key_of(known, keys) != element]
        elif place is None:
            merged.append(strategic_patch(shape, None, item, names))
        else:
            merged[place] = strategic_patch(shape, merged[place], item, names)
    return merged


def _element(shape: Shape, names: Names, item: Any, keys: tuple[str, ...]) -> str:
    element = key_of(item, keys, shape, names)
    if element is None:
        raise bad_request(f"map: {'.'.join(names)} does not contain declared merge key: {', '.join(keys)}")
    return element


def _ordered(shape: Shape, names: Names, items: list[Any], order: list[Any]) -> list[Any]:
    keys = shape.patch_keys_at(names)
    if keys is None:
        return items

    def place(item: Any) -> str | None:
        return key_of(item, keys) if keys == AS_SET or is_obj(item) else None

    wanted = [place(item) for item in order]
    known = [item for item in items if place(item) in wanted]
    rest = [item for item in items if place(item) not in wanted]
    return [*sorted(known, key=lambda item: wanted.index(place(item))), *rest]
