"""Whether an object may be stored: the rules of its kind, and fields that must not change once they are set.

Fewer than the real server has: those that a deployment tool meets and must report well.
"""

from collections.abc import Callable, Iterator

from locktender.embedded.cluster.crds.rules import definition_rules
from locktender.embedded.cluster.refusal import Cause, invalid
from locktender.embedded.cluster.resources import Resource
from locktender.embedded.cluster.rules.batch import cron_job_rules, job_rules
from locktender.embedded.cluster.rules.immutable import immutable_rules
from locktender.embedded.cluster.rules.names import metadata_rules
from locktender.embedded.cluster.rules.network import ingress_rules, service_rules
from locktender.embedded.cluster.rules.others import (
    autoscaler_rules,
    binding_rules,
    budget_rules,
    claim_rules,
    data_rules,
    role_rules,
    secret_rules,
    stateful_claim_rules,
)
from locktender.embedded.cluster.rules.pods import pod_rules
from locktender.embedded.cluster.rules.workloads import workload_rules
from locktender.embedded.cluster.schema.structural import broken
from locktender.embedded.cluster.shapes import Obj, name_of, obj_at


def check(resource: Resource, before: Obj | None, after: Obj) -> None:
    """Pass, or refuse.

    Raises:
        Refusal: 422 with one cause a broken rule.
    """
    causes = list(metadata_rules(resource, after))
    if resource.schema:
        causes += broken(resource.schema, after)
    if resource.builtin:
        for rules in _RULES.get(resource.kind, ()):
            causes += rules(after)
        if before is not None:
            causes += immutable_rules(resource.kind, before, after)
    if causes:
        raise invalid(resource, name_of(after), causes)


def _pod(obj: Obj) -> Iterator[Cause]:
    return pod_rules(obj_at(obj, "spec"), "spec")


_RULES: dict[str, tuple[Callable[[Obj], Iterator[Cause]], ...]] = {
    "Deployment": (workload_rules,),
    "ReplicaSet": (workload_rules,),
    "StatefulSet": (workload_rules, stateful_claim_rules),
    "DaemonSet": (workload_rules,),
    "Job": (job_rules,),
    "CronJob": (cron_job_rules,),
    "Pod": (_pod,),
    "Service": (service_rules,),
    "Ingress": (ingress_rules,),
    "ConfigMap": (data_rules,),
    "Secret": (secret_rules,),
    "PersistentVolumeClaim": (claim_rules,),
    "HorizontalPodAutoscaler": (autoscaler_rules,),
    "PodDisruptionBudget": (budget_rules,),
    "Role": (role_rules,),
    "ClusterRole": (role_rules,),
    "RoleBinding": (binding_rules,),
    "ClusterRoleBinding": (binding_rules,),
    "CustomResourceDefinition": (definition_rules,),
}
