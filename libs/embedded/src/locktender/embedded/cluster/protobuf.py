"""Bodies in the binary form that typed clients prefer, for the few kinds that kubectl makes up itself."""

import base64
from collections.abc import Iterator
from typing import Any

from locktender.embedded.cluster.refusal import Refusal, bad_request, unsupported_media
from locktender.embedded.cluster.schema.numbers import NUMBERS
from locktender.embedded.cluster.schema.types import field_node, items_node, type_name, type_node
from locktender.embedded.cluster.shapes import Obj, text_at

MAGIC = b"k8s\x00"
MEDIA = "application/vnd.kubernetes.protobuf"
_JSON = ("application/json", "application/yaml")
_FIXED_64 = 1
_LONGEST = 10
_BYTE_MAPS = ("core_v1.Secret.data", "core_v1.ConfigMap.binaryData")


def decode_binary(raw: bytes) -> Obj:
    """The object in a body that begins with `MAGIC`.

    Raises:
        Refusal: 415 for a kind whose binary form is not known, 400 for a body that is cut or broken.
    """
    try:
        envelope = dict(_fields(raw[len(MAGIC) :]))
        head = {number: _text(value) for number, value in _fields(_raw(envelope.get(1, b"")))}
        api_version, kind = head.get(1, ""), head.get(2, "")
        group, _, version = api_version.rpartition("/")
        name = type_name(group, version, kind) or type_name("meta", "v1", kind)
        if name not in NUMBERS:
            raise _unknown()
        return {"apiVersion": api_version, "kind": kind, **_message(name, _raw(envelope.get(2, b"")))}
    except (ValueError, IndexError):
        raise bad_request("the body cannot be read: its binary form is broken") from None


def _unknown() -> Refusal:
    return unsupported_media(MEDIA, _JSON)


def _message(name: str, raw: bytes) -> Obj:
    # A type without numbers is only there because the client always sends the field.
    fields = NUMBERS.get(name, "").split()
    found: Obj = {}
    for number, value in _fields(raw):
        field = fields[number - 1] if number <= len(fields) else "-"
        node = field_node(type_node(name), field) if field != "-" else None
        if node is None:
            continue
        if node.get("type") == "array":
            found.setdefault(field, []).append(_value(items_node(node), value))
        elif node.get("type") == "object":
            key, item = _entry(node, _raw(value), f"{name}.{field}")
            found.setdefault(field, {})[key] = item
        else:
            read = _value(node, value)
            if read != "":
                found[field] = read
    return found


def _entry(node: Obj, raw: bytes, where: str) -> tuple[str, Any]:
    parts = dict(_fields(raw))
    key, value = _text(parts.get(1, b"")), parts.get(2, b"")
    if where in _BYTE_MAPS:
        return key, base64.b64encode(_raw(value)).decode()
    return key, _value(node["additionalProperties"], value)


def _value(node: Obj, value: int | bytes) -> Any:
    reference = text_at(node, "$ref")
    if reference:
        return _message(reference, _raw(value))
    if node.get("format") == "quantity":
        return _text(dict(_fields(_raw(value))).get(1, b""))
    if node.get("x-kubernetes-int-or-string") is True:
        parts = dict(_fields(_raw(value)))
        return _text(parts.get(3, b"")) if parts.get(1) else parts.get(2, 0)
    match node.get("type"):
        case "integer":
            number = value if isinstance(value, int) else 0
            return number - (1 << 64) if number >> 63 else number
        case "boolean":
            return bool(value)
        case _:
            return _text(value)


def _fields(raw: bytes) -> Iterator[tuple[int, int | bytes]]:
    place = 0
    while place < len(raw):
        key, place = _varint(raw, place)
        match key & 7:
            case 0:
                value, place = _varint(raw, place)
                yield key >> 3, value
            case 2:
                size, place = _varint(raw, place)
                if place + size > len(raw):
                    raise ValueError(size)
                yield key >> 3, raw[place : place + size]
                place += size
            case 1 | 5 as width:
                place += 8 if width == _FIXED_64 else 4
            case other:
                raise ValueError(other)


def _varint(raw: bytes, place: int) -> tuple[int, int]:
    value = 0
    for index in range(_LONGEST):
        byte = raw[place + index]
        value |= (byte & 127) << (7 * index)
        if byte < 128:  # noqa: PLR2004 - the bit that says that more follows
            return value, place + index + 1
    raise ValueError(place)


def _raw(value: int | bytes) -> bytes:
    return value if isinstance(value, bytes) else b""


def _text(value: int | bytes) -> str:
    return _raw(value).decode()
