"""The forms in which one secret value may turn up in text."""

import base64
import json
from collections.abc import Callable, Iterator
from functools import partial
from urllib.parse import quote, quote_plus

SHORTEST = 4
"""Characters a value needs to be worth finding: shorter ones occur everywhere by chance."""

SHORTEST_LINE = 8
"""The same for a line of a longer value: of a configuration file, short lines are no secret of anybody."""

SHORTEST_IN_HEX = 8
"""Bytes that a value needs to be looked for in hexadecimal digits: those of a shorter one are in digests by chance."""

_HTML = str.maketrans({"<": "\\u003c", ">": "\\u003e", "&": "\\u0026"})
_URL_SAFE = str.maketrans("+/", "-_")
_URL_ENCODERS: tuple[Callable[[bytes], str], ...] = (
    *(partial(quote, safe=safe) for safe in ("", "/", "!'()*", ";,/?:@&=+$!'()*#", "$&+=:@")),
    quote_plus,
    lambda raw: quote_plus(raw, safe="*").replace("~", "%7E"),
)
"""What is left alone: nothing, by Python, by JavaScript (a component, an address), by Go (a path); then forms."""


def spellings(value: str | bytes) -> frozenset[str]:
    """Every form of `value` to look for; none when it is too short.

    The same goes for the value without the blanks and line breaks around it, and for each of its longer lines.
    """
    errors = "surrogatepass" if isinstance(value, str) else "surrogateescape"
    text = value if isinstance(value, str) else value.decode(errors=errors)
    if len(text) < SHORTEST:
        return frozenset()
    forms: set[str] = set()
    # What a file holds ends with a line break, and what is shown of it does not.
    for part in dict.fromkeys((text, text.strip())):
        if len(part) >= SHORTEST:
            raw = part.encode(errors=errors)
            forms.update(_plain(part), _base64_of(part, errors), _url(raw), _hex(raw))
    for line in (*_lines(text), _on_one_line(text)):
        forms.update(_plain(line))
    return frozenset(form for form in forms if len(form) >= SHORTEST)


def _lines(text: str) -> Iterator[str]:
    """A key in PEM is often shown indented, one line after the other, and never as it was given."""
    if "\n" in text:
        for line in map(str.strip, text.splitlines()):
            if len(line) >= SHORTEST_LINE and not line.startswith("-----"):
                yield line


def _on_one_line(text: str) -> str:
    """As messages show it: runs of blanks and line breaks are one blank; what cannot be shown is a question mark."""
    return "".join(each if each.isprintable() else "?" for each in " ".join(text.split()))


def _plain(text: str) -> Iterator[str]:
    yield text
    yield text.replace("'", "''")
    yield repr(text)[1:-1]
    for once in frozenset(_json(text)):
        yield once
        # JSON within JSON, as annotations and log lines have it. What is escaped already holds no line breaks.
        yield once.replace("\\", "\\\\").replace('"', '\\"')


def _json(text: str) -> Iterator[str]:
    for ascii_only in (False, True):
        escaped = json.dumps(text, ensure_ascii=ascii_only)[1:-1]
        for written in (escaped, escaped.replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")):
            for each in (written, written.translate(_HTML)):
                yield each
                yield each.replace("/", "\\/")
                yield _capital_escapes(each)


def _capital_escapes(escaped: str) -> str:
    """Hexadecimal digits in capitals. A backslash that is itself escaped begins nothing."""
    pieces = escaped.split("\\\\")
    return "\\\\".join(_capitals(piece) for piece in pieces)


def _capitals(piece: str) -> str:
    first, *rest = piece.split("\\u")
    return first + "".join(f"\\u{part[:4].upper()}{part[4:]}" for part in rest)


def _base64_of(text: str, errors: str) -> Iterator[str]:
    # Inside of an encoded document the value stands as JSON writes it.
    inside = (json.dumps(text, ensure_ascii=ascii_only)[1:-1] for ascii_only in (False, True))
    for written in dict.fromkeys((text, *inside)):
        for form in frozenset(_base64(written.encode(errors=errors))):
            yield form
            yield form.replace("/", "\\/")
            yield from _both_cases(quote(form, safe=""))
    yield from _twice(text.encode(errors=errors))


def _twice(raw: bytes) -> Iterator[str]:
    """Base64 in base64, as a Secret inside of a stored document is. The inner text is the value and nothing else."""
    for form in (base64.b64encode(raw), base64.b64encode(raw).rstrip(b"=")):
        yield from _standard(form)


def _base64(raw: bytes) -> Iterator[str]:
    for form in _standard(raw):
        yield form
        yield form.translate(_URL_SAFE)


def _standard(raw: bytes) -> Iterator[str]:
    whole = base64.b64encode(raw).decode()
    yield whole
    yield whole.rstrip("=")
    for offset in range(3):
        # The characters that depend on neighbours in the encoded text are cut off at both ends.
        shifted = base64.b64encode(bytes(offset) + raw).decode().rstrip("=")
        head = (0, 2, 3)[offset]
        tail = len(shifted) - (1 if (offset + len(raw)) % 3 else 0)
        yield shifted[head:tail]


def _url(raw: bytes) -> Iterator[str]:
    for encode in _URL_ENCODERS:
        for once in _both_cases(encode(raw)):
            yield once
            yield from _both_cases(encode(once.encode()))


def _both_cases(encoded: str) -> tuple[str, str]:
    """With the hexadecimal digits of its escapes in capitals, and in small letters."""
    first, *rest = encoded.split("%")
    return encoded, first + "".join(f"%{piece[:2].lower()}{piece[2:]}" for piece in rest)


def _hex(raw: bytes) -> Iterator[str]:
    if len(raw) >= SHORTEST_IN_HEX:
        yield raw.hex()
        yield raw.hex().upper()
