"""The parts of the runner's executors that need no cluster."""

import ast
import asyncio
import json
from pathlib import Path

import pytest

import locktender.runner.executors.run as executors_run
from locktender.contracts.deployments.models import ApplyOptions, ApplyState, Card, FailureReason, Timeline
from locktender.contracts.deployments.plan import FieldConflict, Plan, PlannedAction, PlannedDocument, summary_of
from locktender.contracts.deployments.wire import ObjectRef
from locktender.contracts.kernel.ids import new_id
from locktender.integrations.kube.errors import InvalidCause
from locktender.integrations.kube.secrets import WITHHELD
from locktender.integrations.kube.stamps import Stamp, stamped
from locktender.runner.executors.documents import (
    Document,
    SourceUnreadable,
    ValuesMissing,
    apply_options,
    documents,
)
from locktender.runner.executors.forecast import Forecast, conflict_message, in_numbers
from locktender.runner.executors.grouping import MOST_WRITES, groups
from locktender.runner.executors.overtaking import check_not_overtaken
from locktender.runner.executors.replacing import check_replaceable
from locktender.runner.executors.settle import Answer, settling
from locktender.runner.executors.terms import ApplyStopped, Terms
from locktender.runner.telling import items, line, stopped

SECRET = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "key"}, "data": {"a": WITHHELD}}
WHOLE = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "key"}, "data": {"a": "c2VjcmV0"}}
DEFINITION = {
    "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
    "metadata": {"name": "widgets.example.org"}, "spec": {"names": {"kind": "Widget"}},
}  # fmt: skip


def source(*bodies: object) -> str:
    listed = [{"index": index, "line": 1, "body": body} for index, body in enumerate(bodies)]
    return json.dumps({"kind": "manifests", "documents": listed})


def test_secrets_from_custody_take_the_places_of_the_stored_ones() -> None:
    [document] = documents(source(SECRET), {0: WHOLE}, new_id())
    assert document.body == WHOLE


def test_a_secret_whose_values_did_not_come_is_never_applied_with_its_placeholder() -> None:
    with pytest.raises(ValuesMissing, match="Secret key"):
        documents(source(SECRET), {}, new_id())


def test_a_stamp_names_task_and_epoch_and_leaves_the_document_itself_alone() -> None:
    task, body = new_id(), {"metadata": {"name": "x", "labels": {"app.kubernetes.io/managed-by": "helm"}}}
    marked = stamped(body, Stamp(task, 3))
    assert marked["metadata"] == {
        "name": "x",
        "labels": {"app.kubernetes.io/managed-by": "helm"},
        "annotations": {"locktender.dev/task": str(task), "locktender.dev/epoch": "3"},
    }
    assert "annotations" not in body["metadata"]


def test_the_label_of_the_manager_is_added_where_there_is_none() -> None:
    marked = stamped({"metadata": {"name": "x"}}, Stamp(new_id(), 1))
    assert marked["metadata"] == marked["metadata"] | {"labels": {"app.kubernetes.io/managed-by": "locktender"}}


async def test_a_request_under_way_may_still_answer_after_a_cancellation() -> None:
    answered, heard = asyncio.Event(), list[Answer[str]]()

    async def request() -> str:
        await answered.wait()
        return "yes"

    async def body() -> None:
        await settling(request(), patience=lambda: 5.0, late=heard.append)

    async with asyncio.TaskGroup() as group:
        task = group.create_task(body())
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        task.cancel()
        await asyncio.sleep(0)
        answered.set()
    assert task.cancelled()
    assert [answer.get() for answer in heard] == ["yes"]


async def test_a_request_without_patience_is_let_go_at_once() -> None:
    heard = list[Answer[None]]()
    ended = asyncio.Event()

    async def request() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    async with asyncio.TaskGroup() as group:

        async def body() -> None:
            await settling(request(), patience=lambda: 0.0, late=heard.append)

        task = group.create_task(body())
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        task.cancel()
    assert ended.is_set()
    assert heard == []


async def test_an_error_of_a_request_reaches_the_caller_as_it_is() -> None:
    async def request() -> None:
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        await settling(request(), patience=lambda: 1.0, late=lambda _: None)


def timeline(applied: int, total: int) -> Timeline:
    ref = ObjectRef(api_version="v1", kind="ConfigMap", name="x")
    states = [ApplyState.APPLIED] * applied + [ApplyState.PENDING] * (total - applied)
    return Timeline(cards=tuple(Card(index=index, ref=ref, apply=state) for index, state in enumerate(states)))


def test_a_payload_stays_small_however_many_documents_there_are() -> None:
    said = items(timeline(250, 500))
    assert len(json.dumps(said)) < 4096
    assert said["counts"] == {"applied": 250, "unknown": 0, "notApplied": 250}


def test_a_cancelled_run_says_what_stays_in_the_cluster() -> None:
    assert stopped(timeline(0, 3)) == "cancelled; nothing was applied"
    assert stopped(timeline(2, 3)) == "cancelled; 2 of 3 documents were applied and stay in the cluster"


def test_a_line_for_people_is_one_line_of_bounded_length() -> None:
    assert line("a\n  b") == "a b"
    assert len(line("x" * 5000)) < 700


def test_executors_know_nothing_of_the_database() -> None:
    for path in Path(executors_run.__file__).parent.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom):
                assert not (node.module or "").startswith("locktender.storage"), path


def config_map(index: int, kind: str = "ConfigMap") -> Document:
    ref = ObjectRef(api_version="v1", kind=kind, name=f"c{index}")
    return Document(index, ref, {"apiVersion": "v1", "kind": kind, "metadata": {"name": f"c{index}"}})


def test_few_documents_are_announced_one_by_one_and_many_in_groups_of_one_phase() -> None:
    assert [len(group) for group in groups([config_map(index) for index in range(60)])] == [1] * 60
    many = [*(config_map(index) for index in range(100)), *(config_map(index, "Service") for index in range(900))]
    parts = list(groups(many))
    assert [document for part in parts for document in part] == many
    assert len(parts) <= MOST_WRITES + 1
    assert all(len({document.phase for document in part}) == 1 for part in parts)
    assert list(groups([])) == []


def test_an_object_without_a_name_is_named_by_task_and_place() -> None:
    body = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"generateName": "migrate-"}, "spec": {}}
    task = new_id()
    [one] = documents(source(body), {}, task)
    [same] = documents(source(body), {}, task)
    [other] = documents(source(body), {}, new_id())
    assert one.ref.name == same.ref.name != other.ref.name
    assert one.ref.name.startswith("migrate-")


def test_how_to_apply_is_read_from_the_source_and_never_guessed() -> None:
    assert apply_options(source()) == ApplyOptions()
    stored = json.dumps({"kind": "manifests", "documents": [], "apply": {"force": True, "replace": ["Job"]}})
    assert apply_options(stored) == ApplyOptions(force=True, replace=("Job",))
    with pytest.raises(SourceUnreadable):
        apply_options(json.dumps({"apply": {"forced": True}}))


REF = ObjectRef(api_version="v1", kind="ConfigMap", name="x")


def test_an_older_run_or_deployment_is_written_over_and_a_newer_one_is_not() -> None:
    older, own, newer = new_id(), new_id(), new_id()
    for found in (None, Stamp(older, 9), Stamp(own, 1), Stamp(own, 2)):
        check_not_overtaken(REF, found, Stamp(own, 2), force=False)
    for found in (Stamp(newer, 1), Stamp(own, 3)):
        with pytest.raises(ApplyStopped):
            check_not_overtaken(REF, found, Stamp(own, 2), force=False)
    check_not_overtaken(REF, Stamp(newer, 1), Stamp(own, 2), force=True)
    with pytest.raises(ApplyStopped):
        check_not_overtaken(REF, Stamp(own, 3), Stamp(own, 2), force=True)


def planned(index: int, action: PlannedAction, **rest: object) -> PlannedDocument:
    ref = ObjectRef(api_version="v1", kind="ConfigMap", name=f"c{index}")
    return PlannedDocument(index=index, ref=ref, action=action, **rest)  # pyright: ignore[reportArgumentType]


def forecast(*each: PlannedDocument, options: ApplyOptions | None = None) -> Forecast:
    terms = Terms(Stamp(new_id(), 1), "default", options or ApplyOptions())
    return Forecast(Plan(documents=each, summary=summary_of(each)), {}, terms)


def test_what_the_plan_says_cannot_be_applied_stops_the_run_first_by_name_the_rest_counted() -> None:
    refused = {"reason": "quota-exceeded", "message": "it does not fit", "hint": "ask for more"}
    each = [planned(index, PlannedAction.REFUSED, **refused) for index in range(6)]
    with pytest.raises(ApplyStopped, match="nothing was applied: it does not fit; and 5 more: ") as stop:
        forecast(planned(9, PlannedAction.CREATE), *each).check()
    assert (stop.value.reason, stop.value.hint) == (FailureReason.QUOTA_EXCEEDED, "ask for more")


def test_what_can_be_applied_or_is_not_known_yet_goes_on() -> None:
    forecast(
        planned(0, PlannedAction.CREATE), planned(1, PlannedAction.CHANGE), planned(2, PlannedAction.UNCHANGED),
        planned(3, PlannedAction.UNKNOWN), planned(4, PlannedAction.REPLACE),
        options=ApplyOptions(replace=("ConfigMap",)),
    ).check()  # fmt: skip


def test_an_object_that_did_not_fit_is_told_in_the_words_of_its_owner() -> None:
    conflicts = [FieldConflict(manager=f"m{number}", field=f".spec.f{number}") for number in range(5)]
    said = conflict_message(REF, conflicts)
    assert said.startswith("m0 owns spec.f0 of ConfigMap x, m1 owns spec.f1")
    assert said.endswith("and 2 more fields")


def test_kinds_that_hold_data_are_never_replaced() -> None:
    held = ObjectRef(api_version="v1", kind="PersistentVolumeClaim", name="data")
    options = ApplyOptions(replace=("PersistentVolumeClaim", "Job"))
    with pytest.raises(ApplyStopped) as stop:
        check_replaceable(held, options, [InvalidCause("spec.accessModes", "field is immutable")])
    assert str(stop.value) == "spec.accessModes of PersistentVolumeClaim data cannot change"
    check_replaceable(ObjectRef(api_version="batch/v1", kind="Job", name="x"), options, ())


def test_a_plan_in_one_line_leaves_out_what_there_is_none_of() -> None:
    documents = (planned(0, PlannedAction.CREATE), planned(1, PlannedAction.CONFLICT))
    assert in_numbers(summary_of(documents)) == "planned: 1 to create, 1 in conflict"
    assert in_numbers(summary_of(())) == "planned: nothing"
