"""Objects are applied after what they need."""

from dataclasses import dataclass

from locktender.contracts.deployments.ordering import Phase, apply_order, phase_of


@dataclass(frozen=True)
class Item:
    api_version: str
    kind: str


WRITTEN = [
    Item("admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration"),
    Item("networking.k8s.io/v1", "Ingress"),
    Item("example.com/v1", "Database"),
    Item("apps/v1", "Deployment"),
    Item("v1", "Service"),
    Item("v1", "PersistentVolumeClaim"),
    Item("v1", "Secret"),
    Item("rbac.authorization.k8s.io/v1", "RoleBinding"),
    Item("rbac.authorization.k8s.io/v1", "Role"),
    Item("storage.k8s.io/v1", "StorageClass"),
    Item("apiextensions.k8s.io/v1", "CustomResourceDefinition"),
    Item("v1", "Namespace"),
]


def test_what_others_need_comes_first() -> None:
    assert [WRITTEN[i] for i in apply_order(WRITTEN)] == WRITTEN[::-1]


def test_objects_of_one_phase_keep_the_order_they_were_written_in() -> None:
    items = [
        Item("apps/v1", "StatefulSet"),
        Item("apps/v1", "Deployment"),
        Item("v1", "Service"),
        Item("batch/v1", "Job"),
    ]
    assert apply_order(items) == [2, 0, 1, 3]


def test_nothing_gives_nothing() -> None:
    assert apply_order([]) == []


def test_a_foreign_kind_with_a_familiar_name_is_still_foreign() -> None:
    assert phase_of("serving.knative.dev/v1", "Service") is Phase.CUSTOM
    assert phase_of("v1", "Service") is Phase.SERVICES


def test_what_could_block_everything_else_comes_last() -> None:
    blockers = [
        Item("admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration"),
        Item("admissionregistration.k8s.io/v1", "MutatingWebhookConfiguration"),
        Item("apiregistration.k8s.io/v1", "APIService"),
    ]
    others = [Item("autoscaling/v2", "HorizontalPodAutoscaler"), Item("example.com/v1", "Database"), Item("v1", "Pod")]
    assert max(phase_of(each.api_version, each.kind) for each in others) < Phase.WEBHOOKS
    assert {phase_of(each.api_version, each.kind) for each in blockers} == {Phase.WEBHOOKS}


def test_definitions_come_before_everything_that_could_be_of_their_kinds() -> None:
    assert apply_order([Item("example.com/v1", "Database"), *WRITTEN[-2:]]) == [2, 1, 0]


def test_routes_and_gateways_come_after_what_they_lead_to() -> None:
    for kind in ("Gateway", "HTTPRoute", "GRPCRoute", "TLSRoute", "TCPRoute", "UDPRoute", "ReferenceGrant"):
        assert phase_of("gateway.networking.k8s.io/v1", kind) is Phase.EDGE
