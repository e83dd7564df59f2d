"""How a document of the collection is written down, and how it becomes a text."""

from typing import TypeAlias

Verdict: TypeAlias = str | None
"""The code of the first finding with which we refuse it; None: we read it, and just as kubectl does."""

Cases: TypeAlias = dict[str, tuple[str, Verdict]]
Scalars: TypeAlias = dict[Verdict, list[str]]

HEAD = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: case-a}\n"
_JSON = '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"case-a"}'
_ITEM = HEAD.replace("\n", "\n  ").rstrip(" ")
_SHORT = {
    "@A": HEAD,
    "@B": HEAD.replace("case-a", "case-b"),
    "@I": _ITEM,
    "@L": _ITEM.replace("case-a", "case-b"),
    "@J": _JSON,
    "@K": _JSON.replace("case-a", "case-b"),
    "@M": _JSON.replace("case-a", "case-c"),
}


def expanded(text: str) -> str:
    """`text` with whole heads for their short forms.

    `@A` and `@B` are two objects without content, `@I` and `@L` the same as items of a list; `@J`, `@K` and `@M` are
    three JSON objects that still lack their closing brace.
    """
    for short, whole in _SHORT.items():
        text = text.replace(short, whole)
    return text
