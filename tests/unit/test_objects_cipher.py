"""What is kept is sealed: for one place, by a key of the ring, and it opens nowhere else."""

from base64 import b64encode, urlsafe_b64encode

import pytest

from locktender.integrations.objects.cipher import OVERHEAD, Cipher
from locktender.integrations.objects.errors import ObjectUnreadable, Unreadable
from locktender.integrations.objects.keys import KeyRing, new_key_text

OLD, NEW = bytes(range(32)), bytes(range(1, 33))


def cipher(*keys: bytes) -> Cipher:
    return Cipher(KeyRing(keys))


def reason(ring: Cipher, aad: str, data: bytes) -> Unreadable:
    with pytest.raises(ObjectUnreadable) as caught:
        ring.open(aad, data)
    return caught.value.reason


@pytest.mark.parametrize("plain", [b"", b"x", b"secret" * 100_000])
def test_what_was_sealed_for_a_place_opens_there(plain: bytes) -> None:
    sealed = cipher(OLD).seal("variable/1", plain)
    assert cipher(OLD).open("variable/1", sealed) == plain
    assert len(sealed) == len(plain) + OVERHEAD
    assert b"secret" not in sealed


def test_the_same_value_never_looks_the_same_twice() -> None:
    assert cipher(OLD).seal("a", b"value") != cipher(OLD).seal("a", b"value")


def test_no_byte_of_it_can_be_altered() -> None:
    sealed = cipher(OLD).seal("a", b"value")
    for place in range(len(sealed)):
        altered = bytearray(sealed)
        altered[place] ^= 1
        with pytest.raises(ObjectUnreadable):
            cipher(OLD).open("a", bytes(altered))


def test_it_opens_in_no_other_place() -> None:
    assert reason(cipher(OLD), "b", cipher(OLD).seal("a", b"value")) is Unreadable.ALTERED


def test_a_cut_or_foreign_value_is_told_from_a_missing_key() -> None:
    sealed = cipher(OLD).seal("a", b"value")
    assert reason(cipher(OLD), "a", sealed[:-1]) is Unreadable.ALTERED
    assert reason(cipher(OLD), "a", sealed[:20]) is Unreadable.FOREIGN
    assert reason(cipher(OLD), "a", b'{"version": 4, "terraform_version": "1.11.4"}') is Unreadable.FOREIGN
    assert reason(cipher(NEW), "a", sealed) is Unreadable.UNKNOWN_KEY


def test_after_a_rotation_old_values_open_and_new_ones_need_the_new_key() -> None:
    before = cipher(OLD)
    rotated = cipher(NEW, OLD)
    sealed = before.seal("a", b"value")
    assert rotated.open("a", sealed) == b"value"
    assert not rotated.sealed_by_current(sealed)
    fresh = rotated.seal("a", b"value")
    assert rotated.sealed_by_current(fresh)
    assert reason(before, "a", fresh) is Unreadable.UNKNOWN_KEY
    assert cipher(NEW).open("a", fresh) == b"value"


def test_the_setting_takes_either_alphabet_of_base64_and_several_keys() -> None:
    key = b"\xff" * 32
    text = f"{b64encode(key).decode()}, {urlsafe_b64encode(OLD).decode()},{new_key_text()}"
    sealed = cipher(OLD).seal("a", b"value")
    assert Cipher(KeyRing.parse(text)).open("a", sealed) == b"value"
    assert KeyRing.parse(text).current[1] == key


@pytest.mark.parametrize("text", ["", "hunter2", b64encode(b"short").decode(), f"{b64encode(OLD).decode()},", "ü"])
def test_a_setting_that_is_no_key_is_refused_without_being_repeated(text: str) -> None:
    with pytest.raises(ValueError, match="encryption key") as caught:
        KeyRing.parse(text)
    assert not text or text not in str(caught.value)


def test_a_key_is_given_once_and_shown_never() -> None:
    with pytest.raises(ValueError, match="once"):
        KeyRing([OLD, OLD])
    assert OLD.hex() not in repr(KeyRing([OLD]))
    assert repr(OLD) not in repr(KeyRing([OLD]))
