import hashlib

from locktender.api.http.idempotency import NO_DIGEST, Digests

KEY, OTHER = Digests(b"k" * 32), Digests(b"o" * 32)
PUBLIC, SECRET = b"what is stored anyway", b"1234"


def test_equal_requests_have_the_same_digest() -> None:
    assert KEY.same(KEY.make(PUBLIC, SECRET), KEY.make(PUBLIC, SECRET))


def test_another_secret_is_another_request() -> None:
    assert not KEY.same(KEY.make(PUBLIC, SECRET), KEY.make(PUBLIC, b"4321"))
    assert not KEY.same(KEY.make(PUBLIC, SECRET), KEY.make(b"else", SECRET))


def test_after_a_change_of_key_the_public_half_decides() -> None:
    stored = KEY.make(PUBLIC, SECRET)
    assert OTHER.same(stored, OTHER.make(PUBLIC, b"anything"))
    assert not OTHER.same(stored, OTHER.make(b"else", SECRET))


def test_nothing_is_the_same_as_a_request_without_a_key() -> None:
    assert not KEY.same(NO_DIGEST, KEY.make(PUBLIC, SECRET))


def test_the_digest_of_a_short_secret_cannot_be_found_by_trying() -> None:
    stored = KEY.make(PUBLIC, SECRET)
    for guess in range(10_000):
        text = f"{guess:04}".encode()
        assert hashlib.sha256(text).digest() not in stored
        assert hashlib.sha256(PUBLIC + text).digest() not in stored
