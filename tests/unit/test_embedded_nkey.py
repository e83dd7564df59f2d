import nkeys
import pytest

from locktender.embedded.nkey import new_user_seed, user_public_key


def test_a_new_seed_is_one_that_the_reference_library_accepts_and_derives_the_same_key_from() -> None:
    seed = new_user_seed()
    assert user_public_key(seed) == nkeys.from_seed(seed.encode()).public_key.decode()


def test_two_seeds_differ() -> None:
    assert new_user_seed() != new_user_seed()


@pytest.mark.parametrize(
    "text", ["", "SU", "not a seed", "SUAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA", "é"]
)
def test_a_text_that_is_no_user_seed_is_refused_without_being_repeated(text: str) -> None:
    with pytest.raises(ValueError, match="not an NKey seed") as refused:
        user_public_key(text)
    assert not text or text not in str(refused.value)


def test_a_seed_with_one_letter_changed_is_refused() -> None:
    seed = new_user_seed()
    changed = seed[:-1] + ("A" if seed[-1] != "A" else "Q")
    with pytest.raises(ValueError, match="not an NKey seed"):
        user_public_key(changed)
