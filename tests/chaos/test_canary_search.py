import base64
import json
from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote

import pytest

from locktender.testkit.canaries import Cage, Canary, awkward, short, token

VALUES = {
    "token": token("tok"),
    "awkward": awkward("awk"),
    "short": short(),
    "key": "\n".join(["-----BEGIN KEY-----", token("first", 80), token("second", 80), "-----END KEY-----"]),
}
WRITINGS: dict[str, Callable[[str], str]] = {
    "raw": lambda value: value,
    "json": lambda value: json.dumps({"message": f"it said {value}."}),
    "json-unicode": lambda value: json.dumps({"message": f"it said {value}."}, ensure_ascii=False),
    "json-for-html": lambda value: (
        json.dumps(value).replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")
    ),
    "json-in-base64": lambda value: base64.b64encode(json.dumps(value)[1:-1].encode()).decode(),
    "base64-in-a-url": lambda value: "https://x/?q=" + quote(base64.b64encode(value.encode()).decode(), safe=""),
    "json-in-json": lambda value: json.dumps({"line": json.dumps({"message": value})}),
    "base64": lambda value: base64.b64encode(value.encode()).decode(),
    "base64-shifted-1": lambda value: base64.b64encode(f"abcd{value}z".encode()).decode(),
    "base64-shifted-2": lambda value: base64.b64encode(f"a:{value}".encode()).decode(),
    "base64-in-the-middle": lambda value: base64.b64encode(f"ab:{value}:cde".encode()).decode(),
    "base64-twice": lambda value: base64.b64encode(base64.b64encode(value.encode())).decode(),
    "url": lambda value: "https://example.com/?q=" + quote(value, safe=""),
    "hex": lambda value: value.encode().hex(),
    "a-line-of-it": lambda value: max(value.splitlines(), key=len) if len(value) > 120 else value,
}


@pytest.mark.parametrize("value", VALUES)
@pytest.mark.parametrize("writing", WRITINGS)
def test_a_canary_is_found_in_every_form(value: str, writing: str, tmp_path: Path) -> None:
    cage = Cage([Canary("bird", VALUES[value])])
    (tmp_path / "file").write_text(f"before {WRITINGS[writing](VALUES[value])} after")
    assert {hit.canary for hit in cage.folder(tmp_path)} == {"bird"}
    assert not cage.folder(tmp_path, besides=[tmp_path / "file"])


def test_other_text_holds_no_canary() -> None:
    cage = Cage(Canary(name, value) for name, value in VALUES.items())
    assert not cage.text("here", json.dumps([token("tok"), awkward("awk"), short()]))
