"""A secret value in any spelling, in any pieces: nothing of it survives, and what is no value stays as it is."""

import base64
import itertools
import json
from collections.abc import Callable
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from locktender.runtime.scrub import MASK, Scrubber, ScrubStream

# No brackets and no letters of the mask, so that a value is never found in the mask itself.
ALPHABET = "ABCXYZ0129+/=%&<>\"'\\ -_.:~*é漢\n\t"
values = st.text(ALPHABET, min_size=4, max_size=40)
around = st.text("MNOPQ 345,;", max_size=12)


def encoded(text: str, *, lead: bytes = b"", url_safe: bool = False, padded: bool = True) -> str:
    raw = lead + text.encode()
    made = (base64.urlsafe_b64encode if url_safe else base64.b64encode)(raw).decode()
    return made if padded else made.rstrip("=")


def lowered(text: str) -> str:
    first, *rest = text.split("%")
    return first + "".join(f"%{piece[:2].lower()}{piece[2:]}" for piece in rest)


def written(value: str) -> str:
    return json.dumps(value)[1:-1]


SPELLINGS: dict[str, Callable[[str], str]] = {
    "raw": lambda value: value,
    "JSON": written,
    "JSON beyond ASCII": lambda value: json.dumps(value, ensure_ascii=False)[1:-1],
    "JSON with escaped slashes": lambda value: written(value).replace("/", "\\/"),
    "JSON as Go writes it": lambda value: (
        json.dumps(value, ensure_ascii=False)[1:-1].replace("<", "\\u003c").replace(">", "\\u003e")
        .replace("&", "\\u0026")
    ),
    "JSON within JSON": lambda value: written(written(value)),
    "a Python literal": lambda value: repr(value)[1:-1],
    "a YAML literal": lambda value: value.replace("'", "''"),
    "base64": encoded,
    "base64 without padding": lambda value: encoded(value, padded=False),
    "base64 for URLs": lambda value: encoded(value, url_safe=True),
    "base64 for URLs without padding": lambda value: encoded(value, url_safe=True, padded=False),
    "base64 in a URL": lambda value: quote(encoded(value), safe=""),
    "base64 of JSON": lambda value: encoded(written(value)),
    "base64 of base64": lambda value: encoded(encoded(value)),
    "URL": lambda value: quote(value, safe=""),
    "URL in small letters": lambda value: lowered(quote(value, safe="")),
    "a path": quote,
    "a form": quote_plus,
    "a form in small letters": lambda value: lowered(quote_plus(value)),
    "a form of a browser": lambda value: quote_plus(value, safe="*").replace("~", "%7E"),
    "JavaScript's encodeURIComponent": lambda value: quote(value, safe="!'()*"),
    "JavaScript's encodeURI": lambda value: quote(value, safe=";,/?:@&=+$!'()*#"),
    "URL twice": lambda value: quote(quote(value, safe=""), safe=""),
    "URL twice in small letters": lambda value: lowered(quote(value, safe="")).replace("%", "%25"),
    "a form twice": lambda value: quote_plus(quote_plus(value)),
}  # fmt: skip


def pieces(data: st.DataObject, whole: str) -> list[str]:
    cuts = sorted(data.draw(st.lists(st.integers(0, len(whole)), max_size=8)))
    return [whole[start:end] for start, end in itertools.pairwise([0, *cuts, len(whole)])]


def streamed(scrubber: Scrubber, parts: list[str]) -> str:
    stream = ScrubStream(scrubber)
    return "".join(map(stream.feed, parts)) + stream.close()


@pytest.mark.parametrize("name", SPELLINGS)
@given(value=values, before=around, after=around, data=st.data())
@settings(max_examples=60)
def test_in_any_spelling_and_any_pieces_nothing_of_a_value_survives(
    name: str, value: str, before: str, after: str, data: st.DataObject
) -> None:
    spelled = SPELLINGS[name](value)
    scrubbed = streamed(Scrubber([value]), pieces(data, before + spelled + after))
    assert spelled not in scrubbed
    # What stands around it is no part of it and stays, unless it went on as the value does.
    kept = scrubbed.replace(MASK, "")
    assert set(kept) <= set(before + after) | {"="}
    assert MASK in scrubbed


@given(values, st.binary(max_size=7), st.binary(max_size=7), st.booleans(), st.data())
@settings(max_examples=200)
def test_in_a_longer_base64_text_at_every_alignment_nothing_of_a_value_survives(
    value: str,
    before: bytes,
    after: bytes,
    url_safe: bool,  # noqa: FBT001 - drawn
    data: st.DataObject,
) -> None:
    made = (base64.urlsafe_b64encode if url_safe else base64.b64encode)(before + value.encode() + after).decode()
    scrubbed = streamed(Scrubber([value]), pieces(data, made))
    assert MASK in scrubbed
    for part in scrubbed.split(MASK):
        for start in range(min(4, len(part))):
            usable = part[start : start + (len(part) - start) // 4 * 4]
            decode = base64.urlsafe_b64decode if url_safe else base64.b64decode
            assert value.encode() not in decode(usable)


@given(values, st.integers(0, 39), st.integers(1, 40), st.data())
def test_of_values_that_contain_each_other_none_survives(
    value: str, start: int, length: int, data: st.DataObject
) -> None:
    inner = value[start % len(value) :][:length]
    both = [value, inner, f"{value}{value}"]
    whole = " ".join(data.draw(st.lists(st.sampled_from(both), min_size=1, max_size=5)))
    scrubbed = streamed(Scrubber(both), pieces(data, whole))
    assert scrubbed == Scrubber(both[::-1]).text(whole)
    assert value not in scrubbed
    assert len(inner) < 4 or inner.strip() in {"", *" "} or inner not in scrubbed


lines = st.lists(st.text("ABCXYZ0129+/=", min_size=8, max_size=64), min_size=2, max_size=5)


@given(lines, st.sampled_from(["\n", "\r\n"]), st.sampled_from(["", "    ", "> "]), st.data())
def test_a_longer_value_is_found_line_by_line(lines: list[str], ends: str, indent: str, data: st.DataObject) -> None:
    scrubber = Scrubber([ends.join([*lines, ""])])
    shown = "\n".join(f"{indent}{line}" for line in data.draw(st.permutations(lines)))
    scrubbed = streamed(scrubber, pieces(data, shown))
    assert not [line for line in lines if line in scrubbed]


@given(st.text("ABCXYZ0129+/=", min_size=4, max_size=12), st.sampled_from(["\n", "\r\n", "  ", "\t"]))
def test_a_line_break_at_the_end_of_a_value_is_no_part_of_the_secret(value: str, end: str) -> None:
    assert Scrubber([value + end]).text(f"it says {value}, and {encoded(value)}") == f"it says {MASK}, and {MASK}"


@given(st.text("ABXY \t\n\x07\x1b", min_size=4, max_size=30).filter(lambda value: len("".join(value.split())) >= 4))
def test_a_value_that_a_message_shows_on_one_line_is_found(value: str) -> None:
    shown = "".join(each if each.isprintable() else "?" for each in " ".join(value.split()))
    assert Scrubber([value]).text(f"denied: {shown}") == f"denied: {MASK}"


@given(st.text("ABCXYZ0129", min_size=9, max_size=60), st.integers(8, 60), st.sampled_from(["...", "…", ""]), st.data())
def test_the_beginning_of_a_value_that_was_cut_off_is_withheld(
    value: str, length: int, ellipsis: str, data: st.DataObject
) -> None:
    begun = value[: min(length, len(value) - 1)]
    scrubbed = streamed(Scrubber([value]), pieces(data, f"denied: {begun}{ellipsis}"))
    assert scrubbed == f"denied: {MASK}{ellipsis}"


@given(
    st.lists(st.text("AB.", min_size=4, max_size=24), min_size=1, max_size=3), st.text("AB.", max_size=80), st.data()
)
@settings(max_examples=400)
def test_dots_of_a_value_and_dots_of_an_ellipsis_give_the_same_in_any_pieces(
    secrets: list[str], text: str, data: st.DataObject
) -> None:
    scrubber = Scrubber(secrets)
    assert streamed(scrubber, pieces(data, text)) == scrubber.text(text)


@given(st.lists(st.text("abcdefghijklmnopqrstuvwxyz", min_size=4, max_size=40), max_size=5),
       st.text("0123456789 .,:;!?()-é漢\n", max_size=120), st.data())  # fmt: skip
def test_text_without_a_value_is_unchanged(secrets: list[str], text: str, data: st.DataObject) -> None:
    scrubber = Scrubber(secrets)
    assert scrubber.text(text) == text
    assert streamed(scrubber, pieces(data, text)) == text


@given(st.lists(st.integers(0, 2**128 - 1).map("{:032x}".format), min_size=1, max_size=8))
def test_what_clusters_say_is_unchanged_by_random_secrets(secrets: list[str]) -> None:
    said = (
        'Deployment default/web failed: pod web-5d4f8c7b9-x2k4q: container "main" has ImagePullBackOff: Back-off '
        'pulling image "registry.example/web:1"; 3 of 6 documents were applied and stay in the cluster'
    )
    assert Scrubber(secrets).text(said) == said


@given(
    st.text(ALPHABET, min_size=8, max_size=40), st.binary(max_size=5), st.binary(max_size=5), st.booleans(), st.data()
)
@settings(max_examples=80)
def test_in_hexadecimal_digits_nothing_of_a_value_survives(
    value: str,
    before: bytes,
    after: bytes,
    capitals: bool,  # noqa: FBT001 - drawn
    data: st.DataObject,
) -> None:
    shown = (before + value.encode() + after).hex()
    made = shown.upper() if capitals else shown
    scrubbed = streamed(Scrubber([value]), pieces(data, f"dump: {made}."))
    assert MASK in scrubbed
    assert value.encode().hex() not in scrubbed.lower()


@given(st.text("GHXYZ", min_size=4, max_size=7), st.integers(0, 2**256 - 1).map("{:064x}".format))
def test_digits_of_a_short_value_in_a_digest_are_chance(value: str, digest: str) -> None:
    inside = f"sha256:{value.encode().hex()}{digest}"
    assert Scrubber([value]).text(inside) == inside


@given(st.text(ALPHABET, max_size=3))
def test_values_below_four_characters_are_left_alone(value: str) -> None:
    text = f"{value} and {value}"
    assert Scrubber([value]).text(text) == text
