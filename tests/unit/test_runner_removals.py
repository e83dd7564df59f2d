"""What is said of objects that a run removes again."""

from locktender.contracts.deployments.cards import CardStatus
from locktender.contracts.deployments.flow import TaskStatus
from locktender.contracts.deployments.models import ApplyState, Card, Timeline
from locktender.contracts.deployments.policy import itemised, settled
from locktender.contracts.deployments.wire import ObjectRef
from locktender.runner.executors.leftovers import Place, places
from locktender.runner.executors.removals import Removals


def card(index: int, kind: str = "ConfigMap", apply: ApplyState = ApplyState.APPLIED) -> Card:
    ref = ObjectRef(api_version="v1", kind=kind, namespace="default", name=f"c{index}")
    return Card(index=index, ref=ref, apply=apply, status=CardStatus.RUNNING)


def test_from_the_first_deletion_on_a_card_claims_nothing_until_it_is_known_again() -> None:
    removals = Removals({"a": card(0), "b": card(1), "c": card(2)}, ())
    assert {each.apply for each in removals.beginning()} == {ApplyState.APPLYING}
    for uid in ("a", "b"):
        removals.ask(uid)
    removals.accept("b")
    assert {each.index: (each.apply, each.reason) for each in removals.ending()} == {
        1: (ApplyState.APPLIED, "removing"), 2: (ApplyState.APPLIED, None),
    }  # fmt: skip


def test_what_was_asked_to_go_and_is_not_listed_is_removed() -> None:
    removals = Removals({"a": card(0)}, ())
    removals.ask("a")
    gone = removals.absent("a")
    assert gone is not None
    assert (gone.apply, gone.reason) == (ApplyState.REMOVED, "removed")
    assert removals.told() == "removed 1 object"


def test_what_nobody_asked_to_go_and_is_not_listed_only_lost_its_label() -> None:
    removals = Removals({"a": card(0)}, ())
    assert removals.absent("a") is None
    assert not removals.is_due("a")
    [kept] = removals.ending()
    assert kept.apply is ApplyState.APPLIED
    assert "not removed" in (kept.message or "")


def test_what_failed_keeps_its_words_when_it_is_gone() -> None:
    failed = card(0, apply=ApplyState.REFUSED).model_copy(update={"message": "no such colour"})
    removals = Removals({"a": failed}, ())
    assert list(removals.beginning()) == [failed]
    removals.ask("a")
    gone = removals.absent("a")
    assert gone is not None
    assert (gone.apply, gone.message) == (ApplyState.REMOVED, "no such colour")


def test_what_stays_is_named_and_the_rest_counted() -> None:
    removals = Removals({str(number): card(number) for number in range(5)}, ["Namespace annex"])
    removals.claim("x", ObjectRef(api_version="v1", kind="PersistentVolumeClaim", namespace="default", name="data-0"))
    assert removals.told().startswith(
        "removed 0 objects; these stay, or are not known to be gone: ConfigMap default/c0"
    )
    assert removals.told().endswith(" and 2 more")


def test_removed_objects_are_itemised_by_themselves() -> None:
    timeline = Timeline(cards=(card(0, apply=ApplyState.REMOVED), card(1, apply=ApplyState.REFUSED)))
    said = itemised(settled(timeline, TaskStatus.FAILED))
    assert said["removed"] == ["ConfigMap default/c0"]
    assert said["notApplied"] == ["ConfigMap default/c1"]


def test_workloads_are_looked_for_before_what_they_use_and_storage_last() -> None:
    kinds = ("ConfigMap", "Service", "PersistentVolumeClaim", "Pod")
    found = places([card(index, kind).ref for index, kind in enumerate(kinds)], ["other/data-store"])
    assert [(place.kind, place.namespace) for place in found] == [
        ("Pod", "default"), ("Service", "default"), ("ConfigMap", "default"),
        ("PersistentVolumeClaim", "default"), ("PersistentVolumeClaim", "other"),
    ]  # fmt: skip
    assert Place("v1", "Pod", "default").has(card(0, "Pod").ref)
