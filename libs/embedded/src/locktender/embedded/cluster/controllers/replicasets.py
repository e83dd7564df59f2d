"""ReplicaSets keep the number of their pods."""

from collections.abc import Iterable

from locktender.embedded.cluster.admission import suffix
from locktender.embedded.cluster.controllers.plane import (
    PODS,
    REPLICA_SETS,
    Plane,
    conditioned,
    controller_key,
    is_active,
    is_ready,
)
from locktender.embedded.cluster.controllers.podkit import Availability, exceeded, from_template, missing_account
from locktender.embedded.cluster.objects import Change, Key
from locktender.embedded.cluster.refusal import Refusal
from locktender.embedded.cluster.shapes import (
    Obj,
    int_at,
    is_going,
    name_of,
    namespace_of,
    obj_at,
    objs_at,
    text_at,
)

_RETRY = 2.0


class ReplicaSetController:
    def __init__(self, plane: Plane) -> None:
        self._plane = plane
        self._availability = Availability(plane)

    def keys(self, change: Change) -> Iterable[Key]:
        match change.key.kind:
            case "replicasets.apps":
                return [change.key]
            case "pods":
                return controller_key(change.after, REPLICA_SETS, "ReplicaSet")
            case "serviceaccounts" if change.type == "ADDED":
                rows = self._plane.cluster.store.select(REPLICA_SETS, change.key.namespace)
                return [Key(REPLICA_SETS, change.key.namespace, name_of(row)) for row in rows]
            case _:
                return []

    def reconcile(self, key: Key) -> float | None:
        found = self._plane.get(REPLICA_SETS, key.namespace, key.name)
        if found is None or is_going(found):
            return None
        pods = [pod for pod in self._plane.children(found, PODS) if is_active(pod)]
        wanted = int_at(found, "spec", "replicas", default=1)
        failure = ""
        for _ in range(wanted - len(pods)):
            failure = self._create(found)
            if failure:
                break
        # Those that serve nobody go first, then the youngest.
        surplus = sorted(pods, key=lambda pod: (is_ready(pod), -_age_rank(pod)))[: max(0, len(pods) - wanted)]
        for pod in surplus:
            self._plane.delete(PODS, pod)
        again = self._report(found, failure)
        return _RETRY * self._plane.pace.factor if failure else again

    def _create(self, owner: Obj) -> str:
        namespace = namespace_of(owner)
        body = from_template(owner["spec"]["template"], f"{name_of(owner)}-{suffix()}")
        account = missing_account(self._plane, namespace, body)
        if account:
            why = f'error looking up service account {namespace}/{account}: serviceaccount "{account}" not found'
            return f'pods "{name_of(owner)}-" is forbidden: {why}'
        full = exceeded(self._plane, f"{name_of(owner)}-")
        if full:
            return full
        try:
            pod = self._plane.create(PODS, namespace, body, owner=owner)
        except Refusal as refusal:
            return refusal.message
        self._plane.tell(REPLICA_SETS, owner, "SuccessfulCreate", f"Created pod: {name_of(pod)}", normal=True)
        return ""

    def _report(self, owner: Obj, failure: str) -> float | None:
        pods = [pod for pod in self._plane.children(owner, PODS) if is_active(pod)]
        labels = obj_at(owner, "spec", "template", "metadata", "labels")
        available, again = self._availability.count(pods, int_at(owner, "spec", "minReadySeconds"))
        status: Obj = {
            "replicas": len(pods),
            "fullyLabeledReplicas": sum(labels.items() <= obj_at(p, "metadata", "labels").items() for p in pods),
            "observedGeneration": int_at(owner, "metadata", "generation"),
        }
        status |= {
            name: n for name, n in (("readyReplicas", sum(map(is_ready, pods))), ("availableReplicas", available)) if n
        }
        if failure:
            entry = {"type": "ReplicaFailure", "status": "True", "reason": "FailedCreate", "message": failure}
            status["conditions"] = conditioned(objs_at(owner, "status", "conditions"), entry, self._plane.stamp)
            self._plane.tell(REPLICA_SETS, owner, "FailedCreate", f"Error creating: {failure}")
        self._plane.set_status(REPLICA_SETS, owner, status)
        return again


def _age_rank(pod: Obj) -> int:
    return int(text_at(pod, "metadata", "resourceVersion") or "0")
