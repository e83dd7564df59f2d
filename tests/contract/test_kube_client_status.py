"""Answers of real clusters, word for word, and what people are told."""

import json
from typing import Any

import pytest

from locktender.contracts.kernel.errors import Finding, Pointer, Rejected
from locktender.integrations.kube.errors import (
    KubeConflict,
    KubeDenied,
    KubeError,
    KubeInvalid,
    KubeNotFound,
    KubeQuotaExceeded,
    KubeTerminating,
    KubeUnavailable,
    WatchExpired,
)
from locktender.integrations.kube.explain import explain
from locktender.integrations.kube.status import Answer, Attempt, refusal

APPLY = Attempt("patch", "Deployment web", "deployments", "shop")


def answer(code: int, message: str = "", *, retry_after: str | None = None, **details: Any) -> Answer:
    body = {
        "kind": "Status",
        "apiVersion": "v1",
        "status": "Failure",
        "message": message,
        "code": code,
        "details": details,
    }
    return Answer(code, json.dumps(body).encode(), retry_after)


@pytest.mark.parametrize(
    ("got", "kind", "words", "reason"),
    [
        (
            answer(
                403,
                'deployments.apps "web" is forbidden: User "ci" cannot patch resource "deployments"',
            ),
            KubeDenied,
            "may not patch deployments in namespace shop",
            "denied",
        ),
        (
            answer(403, 'pods "web" is forbidden: exceeded quota: small, requested: pods=1, limited: pods=2'),
            KubeQuotaExceeded,
            "limited: pods=2",
            "quota-exceeded",
        ),
        (
            answer(403, 'admission webhook "policy.example" denied the request: no latest tags'),
            KubeDenied,
            "no latest tags",
            "denied",
        ),
        (
            answer(
                403,
                'deployments.apps "web" is forbidden: no new content in namespace shop because it is being terminated',
                causes=[{"reason": "NamespaceTerminating", "field": "metadata.namespace"}],
            ),
            KubeTerminating,
            "its namespace is being deleted",
            "apply-failed",
        ),
        (
            answer(404, 'namespaces "shop" not found', name="shop", kind="namespaces"),
            KubeNotFound,
            "namespace shop",
            "apply-failed",
        ),
        (
            answer(
                409,
                "Apply failed with 1 conflict",
                causes=[
                    {
                        "reason": "FieldManagerConflict",
                        "message": 'conflict with "kubectl-client-side-apply" using apps/v1',
                        "field": ".spec.replicas",
                    }
                ],
            ),
            KubeConflict,
            ".spec.replicas is managed by kubectl-client-side-apply",
            "apply-conflict",
        ),
        (
            answer(409, "object is being deleted: web already exists"),
            KubeTerminating,
            "is being deleted",
            "apply-failed",
        ),
        (answer(409, "the object has been modified"), KubeConflict, "in the meantime", "apply-conflict"),
        (
            answer(
                422,
                "Deployment.apps web is invalid",
                causes=[
                    {
                        "reason": "FieldValueInvalid",
                        "message": "Invalid value: field is immutable",
                        "field": "spec.selector",
                    }
                ],
            ),
            KubeInvalid,
            "spec.selector: Invalid value: field is immutable",
            "invalid-manifest",
        ),
        (
            answer(
                500, "failed to create typed patch object (shop/web; apps/v1): .spec.foo: field not declared in schema"
            ),
            KubeInvalid,
            ".spec.foo: field not declared in schema",
            "invalid-manifest",
        ),
        (answer(413, "limit is 3145728"), KubeInvalid, "limit is 3145728", "invalid-manifest"),
        (answer(410, "too old resource version"), WatchExpired, "no longer has the changes", "apply-failed"),
        (answer(500, "etcd leader changed"), KubeUnavailable, "internal error (500)", "cluster-unreachable"),
        (answer(429, "slow down"), KubeUnavailable, "is busy", "cluster-unreachable"),
        (Answer(502, b"<html>bad gateway</html>"), KubeUnavailable, "internal error (502)", "cluster-unreachable"),
        (Answer(302, b""), KubeUnavailable, "redirect", "cluster-unreachable"),
        (Answer(418, b"\xff\xfe"), KubeInvalid, "does not accept Deployment web", "invalid-manifest"),
    ],
)
def test_an_answer_becomes_words_for_people(got: Answer, kind: type[KubeError], words: str, reason: str) -> None:
    error = refusal(got, APPLY)
    assert type(error) is kind
    assert words in str(error)
    assert "\n" not in str(error)
    assert explain(error) == (reason, str(error))


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


@pytest.mark.parametrize("code", [400, 403, 404, 409, 413, 422, 429, 500])
def test_answers_about_secrets_are_never_repeated(code: int) -> None:
    causes = [{"reason": "FieldValueInvalid", "message": "Invalid value: canary", "field": "data[key]"}]
    got = answer(
        code, "Secret db is invalid: canary; exceeded quota; failed to create typed patch object canary", causes=causes
    )
    error = refusal(got, Attempt("patch", "Secret db", "secrets", "shop", secret=True))
    assert "canary" not in str(error)
    assert "canary" not in repr(getattr(error, "causes", ""))


def test_a_long_message_is_cut_and_stays_on_one_line() -> None:
    error = refusal(answer(422, "x\n" * 5_000), APPLY)
    assert len(str(error)) < 400
    assert "\n" not in str(error)


def test_findings_and_surprises_are_explained_too() -> None:
    findings = [Finding(Pointer("/source/manifests"), f"line {n}: wrong", "wrong") for n in range(5)]
    assert explain(Rejected(findings)) == (
        "invalid-manifest",
        "line 0: wrong; line 1: wrong; line 2: wrong; and 2 more",
    )
    reason, message = explain(RuntimeError("canary"))
    assert reason == "apply-failed"
    assert "canary" not in message
