"""The forms in which one secret value may turn up in text."""

import base64
import json
from collections.abc import Iterator
from urllib.parse import quote, quote_plus

SHORTEST = 4
"""Characters a value needs to be worth finding: shorter ones occur everywhere by chance."""

_LINE = 16
_HEX_ESCAPES = str.maketrans({"<": "\\u003c", ">": "\\u003e", "&": "\\u0026"})


def spellings(value: str | bytes) -> frozenset[str]:
    """Every form of `value` to look for; none when it is too short. Lines of a longer text count on their own."""
    text = value if isinstance(value, str) else value.decode(errors="surrogateescape")
    raw = value if isinstance(value, bytes) else value.encode(errors="surrogatepass")
    if len(text) < SHORTEST:
        return frozenset()
    forms = {text, *_json(text), *_base64(raw), *_url(raw)}
    if "\n" in text:
        # A key in PEM is often shown indented, one line after the other, and never as it was given.
        for line in map(str.strip, text.splitlines()):
            if len(line) >= _LINE and not line.startswith("-----"):
                forms |= {line, *_json(line)}
    return frozenset(form for form in forms if len(form) >= SHORTEST)


def _json(text: str) -> Iterator[str]:
    for ascii_only in (False, True):
        escaped = json.dumps(text, ensure_ascii=ascii_only)[1:-1]
        yield escaped
        yield escaped.replace("/", "\\/")
        yield escaped.translate(_HEX_ESCAPES)


def _base64(raw: bytes) -> Iterator[str]:
    for encode in (base64.b64encode, base64.urlsafe_b64encode):
        whole = encode(raw).decode()
        yield whole
        yield whole.rstrip("=")
        for offset in range(3):
            # The characters that depend on neighbours in the encoded text are cut off at both ends.
            shifted = encode(bytes(offset) + raw).decode().rstrip("=")
            head = (0, 2, 3)[offset]
            tail = len(shifted) - (1 if (offset + len(raw)) % 3 else 0)
            yield shifted[head:tail]


def _url(raw: bytes) -> Iterator[str]:
    for encoded in (quote(raw, safe=""), quote(raw), quote_plus(raw)):
        yield encoded
        yield _lower_escapes(encoded)


def _lower_escapes(encoded: str) -> str:
    first, *rest = encoded.split("%")
    return first + "".join(f"%{piece[:2].lower()}{piece[2:]}" for piece in rest)
