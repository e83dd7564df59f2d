"""The parts of the runner's executors that need no cluster."""

import ast
import asyncio
import json
from pathlib import Path

import pytest

import locktender.runner.executors.run as executors_run
from locktender.contracts.deployments.models import ApplyState, Card, ObjectRef, Timeline
from locktender.contracts.kernel.ids import new_id
from locktender.contracts.kernel.lease import Epoch
from locktender.integrations.kube.secrets import WITHHELD
from locktender.runner.executors.documents import ValuesMissing, defined_kinds, documents, stamped
from locktender.runner.executors.settle import Answer, settling
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
    [document] = documents(source(SECRET), {0: WHOLE})
    assert document.body == WHOLE


def test_a_secret_whose_values_did_not_come_is_never_applied_with_its_placeholder() -> None:
    with pytest.raises(ValuesMissing, match="Secret key"):
        documents(source(SECRET), {})


def test_a_stamp_names_task_and_epoch_and_leaves_the_document_itself_alone() -> None:
    task, body = new_id(), {"metadata": {"name": "x", "labels": {"app.kubernetes.io/managed-by": "helm"}}}
    marked = stamped(body, task, Epoch(3))
    assert marked["metadata"] == {
        "name": "x",
        "labels": {"app.kubernetes.io/managed-by": "helm"},
        "annotations": {"locktender.dev/task": str(task), "locktender.dev/epoch": "3"},
    }
    assert "annotations" not in body["metadata"]


def test_the_label_of_the_manager_is_added_where_there_is_none() -> None:
    marked = stamped({"metadata": {"name": "x"}}, new_id(), Epoch(1))
    assert marked["metadata"] == marked["metadata"] | {"labels": {"app.kubernetes.io/managed-by": "locktender"}}


def test_kinds_that_the_source_defines_itself_are_known() -> None:
    assert defined_kinds(documents(source(DEFINITION), {})) == {"Widget"}


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
