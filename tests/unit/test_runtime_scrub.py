import pytest

from locktender.runtime.scrub import MASK, Scrubber, ScrubStream
from locktender.runtime.sensitive import SensitiveKeys

PEM = """-----BEGIN PRIVATE KEY-----
MIIEvQIBADANBgkqhkiG9w0BAQEFAASC
AoIBAQC7VJTUt9Us8cKjMzEfYyjiWA4R
-----END PRIVATE KEY-----
"""


def test_a_key_shown_indented_line_by_line_is_found() -> None:
    shown = "".join(f"    {line}\n" for line in PEM.splitlines())
    scrubbed = Scrubber([PEM]).text(shown)
    assert "MIIEvQ" not in scrubbed
    assert "AoIBAQ" not in scrubbed


def test_a_number_that_is_a_value_is_withheld_and_other_numbers_stay() -> None:
    assert Scrubber(["482913"]).structure({"pin": 482913, "port": 8080, "on": True}) == {
        "pin": MASK,
        "port": 8080,
        "on": True,
    }


def test_short_values_are_left_alone() -> None:
    assert Scrubber(["on", "1"]).text("turned on 1 time") == "turned on 1 time"


def test_nesting_without_end_is_withheld() -> None:
    deep: list[object] = []
    for _ in range(5000):
        deep = [deep]
    assert MASK in str(Scrubber(["abcd"]).structure(deep))


def test_a_stream_holds_back_only_what_may_be_the_beginning_of_a_value() -> None:
    stream = ScrubStream(Scrubber(["hunter22" * 50]))
    assert stream.feed("a line of output\n") == "a line of output\n"
    assert stream.feed("password: hunter22hun") == "password: "
    assert stream.feed("!") == "hunter22hun!"


@pytest.mark.parametrize(
    ("key", "kind"),
    [
        ("password", None),
        ("DB_PASSWORD", None),
        ("clientSecret", None),
        ("apiKey", None),
        ("API-TOKEN", None),
        ("token", None),
        ("anything", "secret"),
        ("anything", "password"),
        ("declared", None),
    ],
)
def test_sensitive_keys_are_known_by_declaration_type_and_name(key: str, kind: str | None) -> None:
    assert SensitiveKeys({"declared"}).covers(key, kind)


@pytest.mark.parametrize("key", ["keyboard", "replicas", "tokens_per_minute", "monkey", "namespace"])
def test_other_keys_are_not_sensitive(key: str) -> None:
    assert not SensitiveKeys().covers(key, "text")
