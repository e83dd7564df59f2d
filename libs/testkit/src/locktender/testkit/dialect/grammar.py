"""Texts made up of what manifests and YAML are made of, most of them nearly right."""

import random
import re

from locktender.testkit.dialect.case import HEAD
from locktender.testkit.dialect.kubectl import NAME
from locktender.testkit.dialect.scalars import PLAIN

_SCALARS = PLAIN[None]
_ODD = [text for texts in PLAIN.values() for text in texts]
_FREQUENT = ["text", "8080", "true", "'quoted'", '"double"', "''", "a b", "http://x/y?z", "x:y", "*b", "&b x", "~", "é"]
_ESCAPES = ["\\n", "\\t", "\\x41", "\\u00e9", "\\/", "\\\\", '\\"', "\\\n      ", "\\ ", "\\e"]
_PIECES = [
    ": ", ":", "\n", "\n  ", "\n    ", "- ", "? ", ", ", ",", "{", "}", "[", "]", "'", '"', "|", ">", "|-", ">+",
    "#", " # c",
    "&b ", "*b", "&c", "!!str ", "!x ", "<<: ", "\t", "\r\n", "---\n", "--- ", "...\n", "%", "@", "\\", "\ufeff",
    "\u00a0", "=", " ",
]  # fmt: skip
_SEPARATORS = [
    "---\n",
    "---\n",
    "---\n",
    "--- # c\n",
    "---  \n",
    "---\t\n",
    "---\r\n",
    "...\n---\n",
    "---#\n",
    "--- {}\n",
    " ---\n",
]
_NAMES = re.compile(f"{NAME}[abc]\\b")
_JSON, _MORE, _DEEPEST = 0.15, 0.7, 3
_HOW_OFTEN = (50, 46, 4)
_STARTS = [
    *[""] * 12,
    "---\n",
    "---\n",
    "# c\n",
    "\n",
    "\ufeff",
    "\ufeff",
    "%YAML 1.1\n---\n",
    "...\n",
    "null\n---\n",
    "---\n---\n",
]


def made_up(rng: random.Random) -> str:
    """One text. Objects are named `case-a` and on, each name once."""
    documents = [_document(rng, letter) for letter in "abc"[: rng.choice([1, 1, 1, 2, 3])]]
    text = documents[0]
    for document in documents[1:]:
        text += rng.choice(_SEPARATORS) + document
    return _spoiled(rng, rng.choice(_STARTS) + text)


def _document(rng: random.Random, letter: str) -> str:
    if rng.random() < _JSON:
        extra = rng.choice(
            ["", ',"spec":[1e3,"\\/"]', ',"spec":{"a":1.50}', ', "x": yes', ',\n\t"y": "\\ud83d\\ude00"', ",} "]
        )
        end = rng.choice(["}\n", "}\n", "}", "} # c\n", "}\n\n", "}}\n"])
        return '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"case-' + letter + '"}' + extra + end
    head = HEAD.replace("case-a", f"case-{letter}")
    return head + "base: &b {p: x, q: [1]}\nspec:\n" + "".join(_entry(rng, 1) for _ in range(rng.randint(1, 4)))


def _entry(rng: random.Random, depth: int) -> str:
    indent = "  " * depth
    key = rng.choice(["a", "b", "c", "'d'", '"e"', "f g", "8080", "h.i/j", "k-l", _word(rng), "<<"])
    kind = rng.choice(["map", "map", "list", "block", "value", "value", "value", "value", "value", "value"])
    if kind == "map" and depth <= _DEEPEST:
        return f"{indent}{key}:\n" + "".join(_entry(rng, depth + 1) for _ in range(rng.randint(1, 3)))
    if kind == "list":
        items = "".join(f"{indent}- {_value(rng)}\n" for _ in range(rng.randint(1, 3)))
        return f"{indent}{key}:\n{items}"
    if kind == "block":
        return f"{indent}{key}: {_block(rng, depth + 1)}"
    return f"{indent}{key}: {_value(rng)}{rng.choice(['', '', ' # c', ' '])}\n"


def _value(rng: random.Random, depth: int = 0) -> str:
    kind = rng.choice(["list", "map", "double", "single", "word", "word", "word", "word", "word", "word"])
    if kind == "list" and depth < _DEEPEST:
        return "[" + ", ".join(_value(rng, depth + 1) for _ in range(rng.randint(0, 3))) + "]"
    if kind == "map" and depth < _DEEPEST:
        return "{" + ", ".join(f"{_word(rng)}: {_value(rng, depth + 1)}" for _ in range(rng.randint(0, 3))) + "}"
    if kind == "double":
        return (
            '"'
            + "".join(rng.choice([*_ESCAPES, *"a b"] * 4 + ["\\0", "\\ud83d\\ude00"]) for _ in range(rng.randint(0, 4)))
            + '"'
        )
    if kind == "single":
        return f"'{_word(rng)}'"
    return _word(rng)


def _word(rng: random.Random) -> str:
    words = rng.choices([_FREQUENT, _SCALARS, _ODD], _HOW_OFTEN)[0]
    return rng.choice(words)


def _block(rng: random.Random, depth: int) -> str:
    header = rng.choice("|>") + rng.choice(["", "", "-", "+", "2", "1-"])
    lines = rng.choices(["one", "two  ", "  deeper", "", " ", "# c", "\ttab", "---", "a: b", "é"], k=rng.randint(0, 5))
    return f"{header}\n" + "".join(f"{'  ' * depth}{line}\n" if line.strip() else f"{line}\n" for line in lines)


def _spoiled(rng: random.Random, text: str) -> str:
    """`text`, often with a piece put in or taken out somewhere, but never amid the names of objects."""
    for _ in range(rng.choice([0, 0, 0, 1, 1, 2])):
        place = rng.randrange(len(text))
        piece, rest = (rng.choice(_PIECES), place) if rng.random() < _MORE else ("", place + rng.randint(1, 4))
        spoiled = text[:place] + piece + text[rest:]
        if _NAMES.findall(spoiled) == _NAMES.findall(text):
            text = spoiled
    return text
