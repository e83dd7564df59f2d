"""The gate that every write passes after it was found valid, whoever writes."""

from dataclasses import dataclass

from locktender.embedded.cluster.faults import Faults
from locktender.embedded.cluster.objects import Key, Store
from locktender.embedded.cluster.policies.limitranges import limit
from locktender.embedded.cluster.policies.podsecurity import violations
from locktender.embedded.cluster.policies.quota import check_quota
from locktender.embedded.cluster.policies.resizing import check_resize
from locktender.embedded.cluster.refusal import forbidden
from locktender.embedded.cluster.resources import Registry, Resource
from locktender.embedded.cluster.shapes import Obj, labels_of, name_of, namespace_of, obj_at, text_at

POD_LIMIT = 500
_PRIORITIES = "priorityclasses.scheduling.k8s.io"
_TEMPLATES = ("spec", "template", "spec")


@dataclass
class Gate:
    """Admission of one cluster.

    Attributes:
        pods: how many pods the whole cluster takes, so that a slip in a number of replicas cannot fill the memory
            of the machine.
    """

    store: Store
    registry: Registry
    faults: Faults
    pods: int = POD_LIMIT

    def admit(self, resource: Resource, before: Obj | None, after: Obj) -> None:
        """Pass an object, completed in place, or refuse it. A write of nothing but the status always passes.

        Raises:
            Refusal: 403 for quotas, limits and pod security, what a webhook rule says for that.
        """
        if before is not None and before.get("status") != after.get("status"):
            return
        self.faults.judge(resource, before, after)
        if not resource.namespaced:
            return
        if resource.kind in ("Pod", "PersistentVolumeClaim") and before is None:
            limit(self.store, resource, after)
        if resource.kind == "Pod" and before is None:
            self._check_pod(resource, after)
        if resource.kind == "PersistentVolumeClaim" and before is not None:
            check_resize(self.store, resource, before, after)
        check_quota(self.store, self.registry, resource, before, after)

    def warnings(self, resource: Resource, namespace: str, obj: Obj) -> list[str]:
        """What the namespace warns about in an object that it takes."""
        space = self.store.get(Key("namespaces", "", namespace)) if namespace else None
        if space is None:
            return []
        path = {"Pod": ("spec",), "CronJob": ("spec", "jobTemplate", *_TEMPLATES)}.get(resource.kind, _TEMPLATES)
        spec = obj_at(obj, *path) if resource.builtin else {}
        broken = violations(labels_of(space), "warn", spec) if spec.get("containers") else ""
        return [f"would {broken}"] if broken else []

    def _check_pod(self, resource: Resource, pod: Obj) -> None:
        space = self.store.get(Key("namespaces", "", namespace_of(pod)))
        broken = violations(labels_of(space), "enforce", obj_at(pod, "spec")) if space is not None else ""
        if broken:
            raise forbidden(resource, name_of(pod), broken.replace("violate", "violates", 1))
        priority = text_at(pod, "spec", "priorityClassName")
        known = not priority or priority.startswith("system-")
        if not known and self.store.get(Key(_PRIORITIES, "", priority)) is None:
            raise forbidden(resource, name_of(pod), f"no PriorityClass with name {priority} was found")
        used = self.store.count("pods")
        if used >= self.pods:
            numbers = f"requested: pods=1, used: pods={used}, limited: pods={self.pods}"
            raise forbidden(resource, name_of(pod), f"exceeded quota: sandbox, {numbers}")
