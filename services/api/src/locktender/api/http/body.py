"""Request bodies: JSON read once and strictly. What readers of JSON disagree on is refused, with the place."""

import asyncio
import json
import math
import re
from collections.abc import Iterator
from itertools import islice
from typing import Any, cast

from litestar import Request

from locktender.api.http.problems import ProblemError
from locktender.contracts.kernel.errors import Finding, Pointer, Rejected
from locktender.contracts.kernel.problems import Problem

DEEPEST = 64
_FINDINGS = 50
_SEGMENT = 200
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


class _Twice(dict[str, object]):
    """An object in which names were repeated."""

    def __init__(self, pairs: list[tuple[str, object]]) -> None:
        super().__init__(pairs)
        seen: set[str] = set()
        self.names = list(dict.fromkeys(name for name, _ in pairs if name in seen or seen.add(name)))


async def read_json(request: Request[Any, Any, Any], seconds: float) -> dict[str, object]:
    """The JSON object in the body. The size is checked while it arrives, before anything is read.

    Raises:
        ProblemError: not JSON by its media type, too large, or it did not arrive within `seconds`.
        Rejected: the text is not one JSON object, or holds what cannot be stored.
    """
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
        raise ProblemError(Problem.UNSUPPORTED_MEDIA_TYPE, "the body has to be JSON: `Content-Type: application/json`")
    try:
        async with asyncio.timeout(seconds):
            body = await request.body()
    except TimeoutError:
        detail = f"the body did not arrive within {seconds:g} s"
        raise ProblemError(Problem.INVALID_REQUEST, detail, headers={"Connection": "close"}) from None
    return parse_object(body)


def parse_object(body: bytes) -> dict[str, object]:
    """The JSON object in `body`, free of repeated names, NaN, NUL characters and halves of surrogate pairs.

    Raises:
        Rejected: with a finding for each fault.
    """
    try:
        value: object = _DECODER.decode(body.decode())
    except UnicodeDecodeError as error:
        raise _rejected("not-utf8", f"the body is not UTF-8 at byte {error.start}") from None
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, column {error.colno}"
        raise _rejected("malformed-json", f"the body is not JSON: {error.msg} at {place}") from None
    except RecursionError:
        raise _rejected("too-deep", f"the body is nested deeper than {DEEPEST} levels") from None
    except ValueError:
        raise _rejected("malformed-json", "the body holds a number with too many digits") from None
    if not isinstance(value, dict):
        raise _rejected("not-an-object", "the body has to be one JSON object")
    document = cast("dict[str, object]", value)
    findings = list(islice(_faults(document), _FINDINGS))
    if findings:
        raise Rejected(findings)
    return document


def pointer(*segments: object) -> Pointer:
    """A JSON pointer (RFC 6901); very long names in it are cut."""
    parts = (str(segment)[:_SEGMENT].replace("~", "~0").replace("/", "~1") for segment in segments)
    return Pointer("".join(f"/{part}" for part in parts))


def _pairs(pairs: list[tuple[str, object]]) -> dict[str, object]:
    made = dict(pairs)
    return made if len(made) == len(pairs) else _Twice(pairs)


_DECODER = json.JSONDecoder(object_pairs_hook=_pairs, parse_constant=float)


def _faults(document: dict[str, object]) -> Iterator[Finding]:
    pending: list[tuple[tuple[object, ...], object]] = [((), document)]
    while pending:
        path, value = pending.pop()
        if len(path) > DEEPEST:
            yield Finding(pointer(*path), f"nested deeper than {DEEPEST} levels", "too-deep")
        elif isinstance(value, dict):
            members = cast("dict[str, object]", value)
            yield from _name_faults(path, members)
            pending.extend((((*path, name), inner)) for name, inner in reversed(members.items()))
        elif isinstance(value, list):
            items = cast("list[object]", value)
            pending.extend(((*path, index), items[index]) for index in reversed(range(len(items))))
        elif isinstance(value, str):
            yield from _text_faults(path, value)
        elif isinstance(value, float) and not math.isfinite(value):
            yield Finding(pointer(*path), "not a finite number; JSON has no NaN and no infinity", "not-a-number")


def _name_faults(path: tuple[object, ...], members: dict[str, object]) -> Iterator[Finding]:
    if isinstance(members, _Twice):
        for name in members.names:
            yield Finding(pointer(*path, name), "this name appears twice in one object; keep one", "duplicate-key")
    for name in members:
        if _UNSTORABLE.search(name):
            yield Finding(pointer(*path), "the name of a member holds what cannot be stored", "unstorable-name")


def _text_faults(path: tuple[object, ...], text: str) -> Iterator[Finding]:
    found = _UNSTORABLE.search(text)
    if found is None:
        return
    line = f"line {text.count(chr(10), 0, found.start()) + 1}: "
    if found.group() == "\0":
        yield Finding(pointer(*path), f"{line}a NUL character cannot be stored; remove it", "nul-byte")
    else:
        message = f"{line}half of a surrogate pair; write the whole character"
        yield Finding(pointer(*path), message, "lone-surrogate")


def _rejected(code: str, message: str) -> Rejected:
    return Rejected([Finding(Pointer(""), message, code)])
