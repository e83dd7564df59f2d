import base64
import itertools
import json
from urllib.parse import quote, quote_plus

from hypothesis import given, settings
from hypothesis import strategies as st

from locktender.runtime.scrub import MASK, Scrubber, ScrubStream

# No brackets and no letters of the mask, so that a value is never found in the mask itself.
ALPHABET = "ABCXYZ0129+/=%&<>\"'\\ -_.:é漢\n\t"
values = st.text(ALPHABET, min_size=4, max_size=40)
texts = st.text(ALPHABET, max_size=60)

ENCODERS = [
    lambda value: value,
    lambda value: json.dumps(value)[1:-1],
    lambda value: json.dumps(value, ensure_ascii=False)[1:-1],
    lambda value: quote(value, safe=""),
    quote,
    quote_plus,
    lambda value: base64.b64encode(value.encode()).decode(),
    lambda value: base64.urlsafe_b64encode(value.encode()).decode(),
]


@given(values, texts, texts, st.sampled_from(ENCODERS))
def test_a_value_is_removed_in_every_spelling(value: str, before: str, after: str, encode: object) -> None:
    spelled = encode(value)
    scrubbed = Scrubber([value]).text(before + spelled + after)
    assert MASK in scrubbed
    assert value not in scrubbed
    assert spelled not in scrubbed


@given(values, st.binary(max_size=7), st.binary(max_size=7))
def test_a_value_inside_a_longer_base64_text_does_not_survive_decoding(value: str, before: bytes, after: bytes) -> None:
    encoded = base64.b64encode(before + value.encode() + after).decode()
    scrubbed = Scrubber([value]).text(encoded)
    assert MASK in scrubbed
    for part in scrubbed.split(MASK):
        for start in range(min(4, len(part))):
            usable = (len(part) - start) // 4 * 4
            assert value.encode() not in base64.b64decode(part[start : start + usable])


@given(st.lists(values, min_size=1, max_size=4), st.data())
def test_overlapping_values_leave_none_of_them_behind(secrets: list[str], data: st.DataObject) -> None:
    text = "".join(
        piece[data.draw(st.integers(0, 3)) :] for piece in data.draw(st.lists(st.sampled_from(secrets), max_size=6))
    )
    scrubbed = Scrubber(secrets).text(text)
    assert not [secret for secret in secrets if any(secret in part for part in scrubbed.split(MASK))]


@given(st.lists(values, min_size=1, max_size=3), st.data())
@settings(max_examples=300)
def test_a_stream_in_any_pieces_equals_the_scrubbed_whole(secrets: list[str], data: st.DataObject) -> None:
    parts = data.draw(st.lists(st.sampled_from(secrets) | st.text("ABX01", max_size=6), max_size=8))
    whole = "".join(parts)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(whole)), max_size=8)))
    edges = [0, *cuts, len(whole)]
    scrubber = Scrubber(secrets)
    stream = ScrubStream(scrubber)
    out = "".join(stream.feed(whole[start:end]) for start, end in itertools.pairwise(edges)) + stream.close()
    assert out == scrubber.text(whole)


@given(values, texts)
def test_scrubbing_twice_changes_nothing_more(value: str, text: str) -> None:
    scrubber = Scrubber([value])
    once = scrubber.text(text + value)
    assert scrubber.text(once) == once


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(ALPHABET, max_size=10),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(ALPHABET, max_size=5), inner, max_size=3),
    max_leaves=10,
)


@given(values, json_values)
def test_no_key_and_no_leaf_of_a_structure_keeps_a_value(value: str, document: object) -> None:
    scrubbed = Scrubber([value]).structure({"outer": [document, value, {value: value}]})
    assert value not in leaves(scrubbed)
    assert MASK in leaves(scrubbed)


@given(texts)
def test_without_values_nothing_changes(text: str) -> None:
    assert Scrubber([]).text(text) == text
    stream = ScrubStream(Scrubber([]))
    assert stream.feed(text) + stream.close() == text


def leaves(value: object) -> list[object]:
    if isinstance(value, dict):
        return [leaf for key, inner in value.items() for leaf in [key, *leaves(inner)]]
    if isinstance(value, list):
        return [leaf for inner in value for leaf in leaves(inner)]
    return [value]
