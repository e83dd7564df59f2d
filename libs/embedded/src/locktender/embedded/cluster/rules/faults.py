"""Broken rules, spelled as the real server spells them."""

import json
from collections.abc import Iterable

from locktender.embedded.cluster.refusal import Cause

PORTS = "must be between 1 and 65535, inclusive"
_MOST = 65535


def required(field: str, why: str = "") -> Cause:
    return field, "FieldValueRequired", f"Required value: {why}" if why else "Required value"


def wrong(field: str, value: object, why: str) -> Cause:
    return field, "FieldValueInvalid", f"Invalid value: {said(value)}: {why}"


def forbidden(field: str, why: str) -> Cause:
    return field, "FieldValueForbidden", f"Forbidden: {why}"


def unsupported(field: str, value: object, allowed: Iterable[str]) -> Cause:
    told = ", ".join(f'"{one}"' for one in allowed)
    return field, "FieldValueNotSupported", f"Unsupported value: {said(value)}: supported values: {told}"


def duplicate(field: str, value: object) -> Cause:
    return field, "FieldValueDuplicate", f"Duplicate value: {said(value)}"


def missing(field: str, value: object) -> Cause:
    return field, "FieldValueNotFound", f"Not found: {said(value)}"


def too_long(field: str, limit: int) -> Cause:
    return field, "FieldValueTooLong", f"Too long: may not be more than {limit} bytes"


def said(value: object) -> str:
    """A value as messages show it."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def is_port(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= _MOST
