"""What is sent for a workload that an autoscaler scales."""

from typing import Any

import pytest

from locktender.integrations.kube.desired import Autoscalers, Desired, desired

Body = dict[str, Any]


def web(replicas: int | None = None, namespace: str | None = None, **spec: Any) -> Body:
    metadata = {"name": "web"} | ({"namespace": namespace} if namespace else {})
    count = {} if replicas is None else {"replicas": replicas}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": {**spec, **count}}


def live(replicas: int, *managers: str) -> Body:
    body = web(replicas, "shop")
    body["metadata"]["managedFields"] = [
        {"manager": manager, "operation": "Update", "fieldsV1": {"f:spec": {"f:replicas": {}}}} for manager in managers
    ]
    return body


def scaler(target: str = "web", namespace: str | None = None, **reference: str) -> Body:
    metadata = {"name": "scaler"} | ({"namespace": namespace} if namespace else {})
    scaled = {"apiVersion": "apps/v1", "kind": "Deployment", "name": target} | reference
    spec = {"scaleTargetRef": scaled}
    return {"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler", "metadata": metadata, "spec": spec}


def wanted(body: Body, there: Body | None, *bodies: Body, **more: Any) -> Desired:
    return desired(body, live=there, autoscalers=Autoscalers.among(bodies or (scaler(),), "shop"), **more)


def test_without_an_autoscaler_the_manifest_is_sent_as_it_is() -> None:
    body = web(3)
    assert wanted(body, live(5, "hpa"), scaler("other")) == Desired(body)


def test_a_new_object_starts_with_the_replicas_as_written() -> None:
    found = wanted(web(3), None)
    assert (found.body["spec"], found.left_alone, found.autoscaler) == ({"replicas": 3}, (), "scaler")


@pytest.mark.parametrize("managers", [("hpa",), ("hpa", "locktender"), ()])
def test_replicas_that_others_own_are_not_sent(managers: tuple[str, ...]) -> None:
    body = web(3, paused=True)
    found = wanted(body, live(5, *managers))
    assert (found.body["spec"], found.left_alone) == ({"paused": True}, ("spec.replicas",))
    assert body == web(3, paused=True), "the manifest itself is not changed"


@pytest.mark.parametrize("written", [3, None])
def test_replicas_that_we_alone_own_are_sent_as_they_are_so_that_nothing_resets_them(written: int | None) -> None:
    found = wanted(web(written), live(5, "locktender"))
    assert (found.body["spec"], found.left_alone) == ({"replicas": 5}, ("spec.replicas",))


def test_managers_whose_fields_become_ours_count_as_we_do() -> None:
    found = wanted(web(3), live(5, "kubectl-client-side-apply"), ours=("locktender", "kubectl-client-side-apply"))
    assert found.body["spec"] == {"replicas": 5}


@pytest.mark.parametrize(
    ("body", "autoscaler", "expected"),
    [
        (web(), scaler(), "scaler"),
        (web(), scaler(namespace="shop"), "scaler"),
        (web(namespace="other"), scaler(), None),
        (web(namespace="other"), scaler(namespace="other"), "scaler"),
        (web(), scaler(kind="StatefulSet"), None),
        (web(), scaler(apiVersion="other.example/v1"), None),
        (web(), scaler(apiVersion="apps/v1beta1"), "scaler"),
        (
            web(),
            {
                "apiVersion": "keda.sh/v1alpha1",
                "kind": "ScaledObject",
                "metadata": {"name": "keda"},
                "spec": {"scaleTargetRef": {"name": "web"}},
            },
            "keda",
        ),
        (web(), {"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler", "spec": None}, None),
    ],
)
def test_an_autoscaler_is_matched_by_group_kind_namespace_and_name(
    body: Body, autoscaler: Body, expected: str | None
) -> None:
    assert Autoscalers.among([autoscaler], "shop").of(body) == expected
