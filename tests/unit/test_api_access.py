import pytest

from locktender.api.http.authorize import Decision, Grant, Kind, Principal, Verb, authorize

TASK = Kind.DEPLOYMENT_TASK


def someone(*grants: Grant) -> Principal:
    return Principal("ada", grants)


@pytest.mark.parametrize("verb", list(Verb))
def test_without_a_grant_a_workspace_does_not_exist(verb: Verb) -> None:
    elsewhere = Grant("other", "*", "*", frozenset({"*"}))
    assert authorize(someone(), "acme", TASK, verb) is Decision.HIDDEN
    assert authorize(someone(elsewhere), "acme", TASK, verb) is Decision.HIDDEN


def test_a_grant_allows_its_verbs_and_no_other() -> None:
    reader = someone(Grant("acme", "deployment-task", "*", frozenset({"read"})))
    assert authorize(reader, "acme", TASK, Verb.READ) is Decision.ALLOWED
    assert authorize(reader, "acme", TASK, Verb.CANCEL) is Decision.FORBIDDEN


def test_a_grant_on_another_kind_allows_nothing() -> None:
    other = someone(Grant("acme", "stack", "*", frozenset({"*"})))
    assert authorize(other, "acme", TASK, Verb.READ) is Decision.FORBIDDEN


def test_a_grant_on_some_names_needs_a_name_that_fits() -> None:
    some = someone(Grant("*", "*", "shop-*", frozenset({"*"})))
    assert authorize(some, "acme", TASK, Verb.READ, "shop-eu") is Decision.ALLOWED
    assert authorize(some, "acme", TASK, Verb.READ, "bank") is Decision.FORBIDDEN
    assert authorize(some, "acme", TASK, Verb.READ) is Decision.FORBIDDEN


def test_every_grant_counts() -> None:
    both = someone(Grant("acme", "*", "*", frozenset({"read"})), Grant("acme", "*", "*", frozenset({"cancel"})))
    assert authorize(both, "acme", TASK, Verb.CANCEL) is Decision.ALLOWED
