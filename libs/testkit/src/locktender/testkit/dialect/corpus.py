"""The whole collection: every document with its verdict."""

from collections.abc import Iterator

from locktender.testkit.dialect.blocks import BLOCKS, HEADERS
from locktender.testkit.dialect.case import HEAD, Cases, Scalars, Verdict, expanded
from locktender.testkit.dialect.identities import IDENTITIES
from locktender.testkit.dialect.jsons import JSONS
from locktender.testkit.dialect.lists import LISTS
from locktender.testkit.dialect.quotes import QUOTES
from locktender.testkit.dialect.scalars import KEYS, PLAIN, TAGGED
from locktender.testkit.dialect.sharing import SHARING
from locktender.testkit.dialect.streams import STREAMS
from locktender.testkit.dialect.structures import STRUCTURES

_LARGE: Cases = {
    "plain": ("  k: " + "x" * 200_000 + "\n", None),
    "quoted": ("  k: '" + "x y " * 50_000 + "'\n", None),
    "folded": ("  k: >\n" + "    word word\n" * 2000, None),
    "key": ("  " + "k" * 1000 + ": v\n", None),
    "quoted key": ("  '" + "k" * 1000 + "': v\n", None),
    "key of 1025": ("  " + "k" * 1025 + ": v\n", "malformed-yaml"),
    "quoted key of 1025": ('  "' + "k" * 1025 + '": v\n', "malformed-yaml"),
    "flow key of 1025": ('  {"' + "k" * 1025 + '": v}\n', "malformed-yaml"),
    "flow list": ("  k: [" + ", ".join(["a"] * 5000) + "]\n", None),
    "deep flow list": ("  k: " + "[" * 20_000 + "]" * 20_000 + "\n", "too-deep"),
}


def corpus() -> dict[str, tuple[str, Verdict]]:
    """Every document by a name that is its own."""
    return dict(_documents())


def _documents() -> Iterator[tuple[str, tuple[str, Verdict]]]:
    yield from _scalars("plain", PLAIN, "  k: {}\n")
    yield from _scalars("key", KEYS, "  {}: v\n")
    yield from _scalars("tag", TAGGED, "  k: {}\n")
    for group, cases in (("header", HEADERS), ("block", BLOCKS), ("quotes", QUOTES), ("large", _LARGE)):
        yield from _cases(group, cases, f"{HEAD}spec:\n")
    for group, cases in (("sharing", SHARING), ("structure", STRUCTURES)):
        yield from _cases(group, cases, HEAD)
    for group, cases in (("stream", STREAMS), ("json", JSONS), ("list", LISTS), ("identity", IDENTITIES)):
        yield from _cases(group, cases, "")


def _scalars(group: str, scalars: Scalars, place: str) -> Iterator[tuple[str, tuple[str, Verdict]]]:
    for verdict, texts in scalars.items():
        for text in texts:
            yield f"{group} {text}", (HEAD + "spec:\n" + place.replace("{}", text), verdict)


def _cases(group: str, cases: Cases, before: str) -> Iterator[tuple[str, tuple[str, Verdict]]]:
    for name, (text, verdict) in cases.items():
        yield f"{group}: {name}", (expanded(before + text), verdict)
