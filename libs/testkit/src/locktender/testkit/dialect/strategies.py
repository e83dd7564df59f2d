"""Texts for Hypothesis: noise, syntax at random, made-up manifests, and real ones with bytes changed."""

from pathlib import Path
from random import Random

from hypothesis import strategies as st

from locktender.testkit.dialect.corpus import corpus
from locktender.testkit.dialect.grammar import made_up
from locktender.testkit.dialect.typical import deployments

_SYNTAX = [
    ": ", "\n", "  ", "- ", "&a ", "*a", "{", "}", "[", "]", ",", "'", '"', "|\n", ">", "---\n", "...\n", "!!str ",
    "!x ", "a", "<<", "? ", "%", "@", "#", "1e3", "~", "\t", "\\", "\r", "kind", "apiVersion", "\ufeff", "\x85",
    "é", "\0",
]  # fmt: skip
_BYTES = st.one_of(st.binary(min_size=1, max_size=4), st.sampled_from([text.encode() for text in _SYNTAX]))

NOISE = st.text(st.characters(), max_size=200)
BYTES = st.binary(max_size=300).map(lambda data: data.decode("utf-8", "replace"))
FRAGMENTS = st.lists(st.sampled_from(_SYNTAX), max_size=60).map("".join)
MADE_UP = st.integers(0, 2**63).map(lambda seed: made_up(Random(seed)))


def real_texts(folder: Path) -> list[str]:
    """The manifests of `folder`, generated ones, and the short documents of the collection."""
    texts = [path.read_text(encoding="utf-8") for path in sorted(folder.glob("*.yaml"))]
    return [*texts, deployments(3), *(text for text, _ in corpus().values() if len(text) < len(deployments(2)))]


@st.composite
def spoiled(draw: st.DrawFn, texts: list[str]) -> str:
    """One of `texts` with some places overwritten, doubled or cut out."""
    data = draw(st.sampled_from(texts)).encode("utf-8", "surrogatepass")
    for _ in range(draw(st.integers(1, 4))):
        begin = draw(st.integers(0, len(data)))
        end = draw(st.integers(begin, min(len(data), begin + 40)))
        piece = draw(st.one_of(_BYTES, st.just(b""), st.just(data[begin:end] * 2)))
        data = data[:begin] + piece + data[end:]
    return data.decode("utf-8", "replace")
