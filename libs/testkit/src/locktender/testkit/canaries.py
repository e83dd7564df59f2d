"""Canaries: secret values that are recognised wherever they turn up, and the search for them.

Independent of the product's own scrubber on purpose: what that overlooks, this must find.
"""

import base64
import json
import mmap
import secrets
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote, quote_plus

_WINDOW = 64
"""Characters of a long value that are searched for in one piece, so that a line of a key is found by itself."""
_HTML = {ord(sign): f"\\u{ord(sign):04x}" for sign in "<>&"}


@dataclass(frozen=True, slots=True)
class Canary:
    """A secret value that nothing else contains. Its repr does not show it, so no report of a failure does."""

    name: str
    value: str = field(repr=False)

    def forms(self) -> Mapping[bytes, str]:
        """What to look for, and the name of each form."""
        forms: dict[bytes, str] = {}
        for part in _parts(self.value):
            for name, form in _forms(part):
                forms.setdefault(form, name)
        return forms


@dataclass(frozen=True, slots=True)
class Hit:
    """A canary where it must not be."""

    canary: str
    form: str
    place: str


class Cage:
    """A set of canaries, and the search for all of them."""

    def __init__(self, canaries: Iterable[Canary]) -> None:
        self._forms = [(form, name, canary.name) for canary in canaries for form, name in canary.forms().items()]

    def bytes(self, place: str, content: bytes | mmap.mmap) -> list[Hit]:
        """The canaries in `content`."""
        return [Hit(canary, name, place) for form, name, canary in self._forms if content.find(form) >= 0]

    def text(self, place: str, content: str) -> list[Hit]:
        """The canaries in `content`."""
        return self.bytes(place, content.encode(errors="surrogateescape"))

    def file(self, path: Path) -> list[Hit]:
        """The canaries in a file; none in one that is gone or empty."""
        with (
            suppress(OSError, ValueError),
            path.open("rb") as opened,
            mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ) as content,
        ):
            return self.bytes(str(path), content)
        return []

    def folder(self, path: Path, *, besides: Collection[Path] = ()) -> list[Hit]:
        """The canaries in every file below `path`, and in the names of files."""
        hits: list[Hit] = []
        for each in sorted(path.rglob("*")):
            if not any(each == spared or spared in each.parents for spared in besides):
                hits += self.text(f"the name of {each}", each.name)
                hits += self.file(each) if each.is_file() and not each.is_symlink() else []
        return hits

    def processes(self, pids: Iterable[int]) -> list[Hit]:
        """The canaries in the arguments and the environment of processes (Linux)."""
        hits: list[Hit] = []
        for pid in pids:
            for part in ("cmdline", "environ"):
                with suppress(OSError):
                    hits += self.bytes(f"{part} of process {pid}", Path(f"/proc/{pid}/{part}").read_bytes())
        return hits


def token(stem: str, length: int = 24) -> str:
    """A random value with characters that JSON, URLs and base64 each write in another way."""
    return f"{stem}+/{secrets.token_hex(length // 2)}=&%"


def awkward(stem: str) -> str:
    """A random value that JSON has to escape: quotes, a backslash, a line break, and letters beyond ASCII."""
    return f'{stem}"\\{secrets.token_hex(8)}\n<é>{secrets.token_hex(8)}'


def short() -> str:
    """A value as short as can be told from chance."""
    alphabet = "bcdfghjkmnpqrstvwxyzBCDFGHJKMNPQRSTVWXYZ23456789"
    return "".join(secrets.choice(alphabet) for _ in range(9))


def _parts(value: str) -> Iterator[str]:
    yield value
    for line in value.splitlines():
        # The middle of a line of a key or a certificate is as telling as the whole.
        if len(line) >= _WINDOW and not line.startswith("-----"):
            yield line[8 : _WINDOW - 8]


def _forms(value: str) -> Iterator[tuple[str, bytes]]:
    raw = value.encode()
    yield "raw", raw
    for ascii_only in (True, False):
        once = json.dumps(value, ensure_ascii=ascii_only)[1:-1]
        yield "JSON", once.encode()
        # As clusters write it.
        yield "JSON for HTML", once.translate(_HTML).encode()
        # JSON within JSON, as annotations and log lines have it.
        yield "JSON twice", json.dumps(once)[1:-1].encode()
        yield "JSON in base64", base64.b64encode(once.encode()).rstrip(b"=")
    for encode, name in ((base64.b64encode, "base64"), (base64.urlsafe_b64encode, "base64 for URLs")):
        for offset in range(3):
            yield name, _aligned(encode(b"\0" * offset + raw), offset, len(raw))
        yield f"{name} twice", _aligned(encode(encode(raw)), 0, len(encode(raw)))
        yield f"{name} in a URL", quote(encode(raw), safe="").encode()
    for escaped in (quote(value), quote(value, safe=""), quote_plus(value)):
        yield "URL", escaped.encode()
    yield "hex", raw.hex().encode()


def _aligned(encoded: bytes, offset: int, length: int) -> bytes:
    """The part of a base64 text that does not depend on what stands beside the value."""
    return encoded[(0, 2, 3)[offset] : (offset + length) // 3 * 4]
