"""One cause of a 422 in words: what the server says about a field, without dumps of the values it has."""

import re

_KNOWN = re.compile(
    r"(Invalid value|Unsupported value|Duplicate value|Forbidden|Required value|Not found|Too long|Too many): ?",
    re.DOTALL,
)
_SUPPORTED = re.compile(r"supported values: (.*)", re.DOTALL)
_QUOTED = re.compile(r'"((?:[^"\\]|\\.)*)"')
_PLAIN_VALUE = re.compile(r'"(?:[^"\\]|\\.){0,80}"|-?[0-9.]{1,20}|true|false')
_SENSITIVE = re.compile(r"passw|secret|token|credential|api.?key|private.?key|\.env\b|\.env\[", re.IGNORECASE)
_IN_BODY = re.compile(r"^\S{1,300} in body (?=should|must)")
_EXCEPT = re.compile(r"updates to (\S+) spec for fields other than (.*) are forbidden", re.DOTALL)
_KINDS = {
    "Invalid value": "has a value that is not accepted",
    "Unsupported value": "has a value that is not accepted",
    "Duplicate value": "repeats a value",
    "Forbidden": "is not allowed",
    "Required value": "is required",
    "Not found": "refers to something that does not exist",
    "Too long": "is too long",
    "Too many": "has too many entries",
}
_PAIRS = {"{": "}", "[": "]", "(": ")"}


def worded(said: str, field: str) -> str:
    """What is wrong with `field`, so that "field + words" is a sentence; "" when the server said nothing.

    Short plain values are repeated, and dumps of structures never are. Of a field whose name is that of a secret,
    nothing that the server quotes is repeated.
    """
    words = _in_words(said, field)
    return _QUOTED.sub("a value", words) if _SENSITIVE.search(field) else words


def _in_words(said: str, field: str) -> str:
    known = _KNOWN.match(said if ": " in said else f"{said}: ")
    if known is None:
        return f"is wrong: {said}" if said else ""
    kind, rest = known.group(1), said[known.end() :] if ": " in said else ""
    match kind:
        case "Required value":
            return f"is required: {rest}" if rest else "is required"
        case "Forbidden":
            return _forbidden(rest)
        case "Too long" | "Too many":
            return f"is {kind.lower()}: {rest}" if rest else f"is {kind.lower()}"
        case _:
            return _about_value(kind, rest, field)


def withheld_words(said: str) -> str:
    """What kind of fault it is, without a word of the server's: for fields whose values are secret."""
    if "base64" in said:
        return "is not base64"
    known = _KNOWN.match(f"{said}: ")
    return _KINDS.get(known.group(1), "") if known is not None else ""


def _about_value(kind: str, rest: str, field: str) -> str:
    end = _end_of_value(rest)
    # The schemas of custom resources say once more which field they mean.
    value, why = rest[:end], _IN_BODY.sub("", rest[end:].removeprefix(": "))
    shown = value if _PLAIN_VALUE.fullmatch(value) and not _SENSITIVE.search(field) else ""
    if kind == "Not found":
        return f"refers to {shown or 'something'}, which does not exist"
    if kind == "Duplicate value":
        return f"repeats {shown}" if shown else "repeats a value"
    supported = _SUPPORTED.search(rest)
    if kind == "Unsupported value" and supported is not None:
        listed = ", ".join(_QUOTED.findall(supported.group(1)))
        return f"cannot be {shown or 'what it is'}; it is one of {listed}"
    if not why and not shown and end and not _looks_like_value(value):
        # Old servers and webhooks leave the value out.
        return f"is wrong: {value}"
    head = f"cannot be {shown}" if shown else "is wrong"
    return f"{head}: {why}" if why else head


def _looks_like_value(text: str) -> bool:
    return text.startswith(('"', "{", "[", "map[")) or bool(re.match(r"[\w.*]+\{", text))


def _forbidden(rest: str) -> str:
    parts = _EXCEPT.search(rest)
    if parts is not None:
        return f"cannot change once the {parts.group(1)} exists, except for {parts.group(2)}"
    return f"is not allowed: {rest}" if rest else "is not allowed"


def _end_of_value(text: str) -> int:
    """Where the value at the start of `text` ends: at the first ": " outside of quotes and brackets."""
    depth, place = 0, 0
    while place < len(text):
        char = text[place]
        if char == '"':
            quoted = _QUOTED.match(text, place)
            if quoted is None:
                break
            place = quoted.end()
            continue
        if char in _PAIRS:
            depth += 1
        elif char in _PAIRS.values():
            depth -= 1
        elif depth <= 0 and text.startswith(": ", place):
            return place
        place += 1
    # Without an end in sight the server has cut its own dump; what follows the last colon is the explanation.
    last = text.rfind(": ")
    return last if depth > 0 and last > 0 else len(text)
