"""Answers of real clusters, and what people are told: what happened, and what to do next."""

import json
import socket
import ssl
from typing import Any

import httpx
import pytest

from locktender.contracts.kernel.errors import Finding, Pointer, Rejected
from locktender.integrations.kube.errors import KubeUnavailable, KubeUnknownKind, Outage
from locktender.integrations.kube.explain import explain, hint_of
from locktender.integrations.kube.outages import not_connected
from locktender.integrations.kube.status import Answer, Attempt, refusal
from locktender.testkit.refusals import ROWS, Row, answer, invalid

APPLY = Attempt("patch", "Deployment web", "deployments", "shop")
SECRET = Attempt("patch", "Secret db", "secrets", "shop", secret=True)
CANARY = "c4n4ry-0f-a-s3cret"
LONGEST = 700


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.id)
def test_an_answer_becomes_words_for_people(row: Row) -> None:
    error = refusal(row.got, APPLY)
    assert type(error) is row.kind
    assert row.words in str(error)
    assert row.not_words not in str(error)
    assert "\n" not in str(error)
    assert len(str(error)) <= LONGEST
    assert explain(error) == (row.reason, str(error))
    hint = hint_of(error) or ""
    assert row.hint in hint
    assert "\n" not in hint


def test_every_refusal_that_a_person_can_act_on_says_how() -> None:
    without = {row.id for row in ROWS if not hint_of(refusal(row.got, APPLY))}
    assert without == {"missing object", "compacted"}


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.id)
def test_no_answer_about_a_secret_repeats_what_it_submitted(row: Row) -> None:
    error = refusal(_with_canaries(row.got), SECRET)
    told = "\n".join((str(error), hint_of(error) or "", repr(error), repr(getattr(error, "causes", ""))))
    assert CANARY not in told


def _with_canaries(got: Answer) -> Answer:
    """The same answer, which repeats a value wherever a server might."""
    status = got.json()
    if not status:
        return Answer(got.code, got.body + CANARY.encode())
    details: Any = status["details"]
    repeated = [
        cause | {"message": f'Invalid value: "{CANARY}": {CANARY}; {cause.get("message", "")} {CANARY}'}
        for cause in details.get("causes", [])
    ]
    said = f"{status['message']}: {CANARY}: {CANARY}"
    return Answer(got.code, json.dumps(status | {"message": said, "details": details | {"causes": repeated}}).encode())


@pytest.mark.parametrize(
    "field",
    [
        "spec.template.spec.containers[0].env[2].value",
        "spec.adminPassword",
        "spec.auth.apiKey",
        "data.token",
        "spec.clientSecret",
    ],
)
def test_values_of_fields_that_are_called_like_secrets_are_not_repeated(field: str) -> None:
    error = refusal(invalid(field, f'Invalid value: "{CANARY}": must be short: "{CANARY}"'), APPLY)
    assert f"{field} is wrong: must be short: a value" in str(error)
    assert CANARY not in repr(getattr(error, "causes", "")) + str(error)


@pytest.mark.parametrize(
    ("got", "seconds"),
    [
        (answer(429, retry_after="7"), 7.0),
        (answer(503, retryAfterSeconds=3), 3.0),
        (answer(503, retry_after="Wed, 21 Oct 2026 07:28:00 GMT"), None),
        (answer(429, retry_after="99999999"), 300.0),
        (answer(503), None),
    ],
)
def test_the_wait_that_a_server_asks_for_is_kept_within_reason(got: Answer, seconds: float | None) -> None:
    error = refusal(got, APPLY)
    assert isinstance(error, KubeUnavailable)
    assert error.retry_after == seconds


@pytest.mark.parametrize(
    ("cause", "outage", "words", "hint"),
    [
        (socket.gaierror(-2, "Name or service not known"), Outage.UNREACHABLE, "host name", "resolve"),
        (ConnectionRefusedError(111, "refused"), Outage.UNREACHABLE, "refuses connections", "host and port"),
        (OSError(101, "Network is unreachable"), Outage.UNREACHABLE, "cannot be reached", "network"),
        (ssl.SSLError(1, "wrong version number"), Outage.TLS, "TLS connection", "https"),
    ],
)
def test_a_connection_that_cannot_be_made_says_why(cause: Exception, outage: Outage, words: str, hint: str) -> None:
    failed = httpx.ConnectError("all connection attempts failed")
    failed.__cause__ = OSError("multiple")
    failed.__cause__.__cause__ = cause
    error = not_connected(failed)
    assert error.outage is outage
    assert words in str(error)
    assert hint in (hint_of(error) or "")


def test_a_long_message_is_cut_and_stays_on_one_line() -> None:
    error = refusal(answer(422, "x\n" * 5_000), APPLY)
    assert len(str(error)) < 400
    assert "\n" not in str(error)


def test_a_dump_that_the_server_cut_itself_is_not_repeated() -> None:
    cut = 'Invalid value: core.PodTemplateSpec{Labels:map[string]string{"a":"b"}, Spec:core.Pod{Co: field is immutable'
    error = refusal(invalid("spec.template", cut), APPLY)
    assert str(error).endswith("spec.template is wrong: field is immutable")


def test_findings_surprises_and_unknown_kinds_are_explained_too() -> None:
    findings = [Finding(Pointer("/source/manifests"), f"line {n}: wrong", "wrong") for n in range(5)]
    assert explain(Rejected(findings)) == (
        "invalid-manifest",
        "line 0: wrong; line 1: wrong; line 2: wrong; and 2 more",
    )
    reason, message = explain(RuntimeError("canary"))
    assert reason == "apply-failed"
    assert "canary" not in message
    assert hint_of(RuntimeError("canary")) is None
    unknown = KubeUnknownKind("example.com/v1", "Widget")
    assert explain(unknown) == ("unknown-kind", "the cluster does not know Widget in example.com/v1")
    assert "custom resource definition" in (hint_of(unknown) or "")
