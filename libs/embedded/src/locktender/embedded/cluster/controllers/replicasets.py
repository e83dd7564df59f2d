"""ReplicaSets, and their ancestors the ReplicationControllers, keep the number of their pods."""

from collections.abc import Iterable

from locktender.embedded.cluster.controllers.plane import (
    PODS,
    REPLICA_SETS,
    Plane,
    conditioned,
    controller_key,
    is_active,
    is_ready,
)
from locktender.embedded.cluster.controllers.podkit import Availability, Names, from_template, missing_account
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
    uid_of,
)

_LEAST_RETRY = 0.2
# Pods made in one go, so that nobody waits for a large set.
_BURST = 50


class ReplicaSetController:
    """Works for one of the two kinds.

    Args:
        kind: as it is stored.
        spoken: as owner references name it.
    """

    def __init__(self, plane: Plane, kind: str = REPLICA_SETS, spoken: str = "ReplicaSet") -> None:
        self._plane = plane
        self._kind = kind
        self._spoken = spoken
        self._availability = Availability(plane)
        self._failures: dict[Key, int] = {}
        self._names = Names()

    def keys(self, change: Change) -> Iterable[Key]:
        key = change.key
        if key.kind == self._kind:
            if change.type == "DELETED":
                self._names.forget(change.after)
            return [key]
        match key.kind:
            case "pods":
                if change.type == "DELETED":
                    self._availability.forget(uid_of(change.after))
                return controller_key(change.after, self._kind, self._spoken)
            case "serviceaccounts" if change.type == "ADDED":
                rows = self._plane.cluster.store.select(self._kind, key.namespace)
                return [Key(self._kind, key.namespace, name_of(row)) for row in rows]
            case "resourcequotas" | "limitranges":
                return self._failing(key.namespace)
            case _:
                return []

    def _failing(self, namespace: str) -> list[Key]:
        """Those that a quota kept from making pods may make them now."""
        rows = self._plane.cluster.store.select(self._kind, namespace)
        return [Key(self._kind, namespace, name_of(row)) for row in rows if objs_at(row, "status", "conditions")]

    def reconcile(self, key: Key) -> float | None:
        found = self._plane.get(self._kind, key.namespace, key.name)
        if found is None or is_going(found):
            self._failures.pop(key, None)
            return None
        pods = [pod for pod in self._plane.children(found, PODS) if is_active(pod)]
        wanted = int_at(found, "spec", "replicas", default=1)
        failure = ""
        missing = wanted - len(pods)
        for _ in range(min(missing, _BURST)):
            failure = self._create(found)
            if failure:
                break
        # Those that serve nobody go first, then the youngest.
        surplus = sorted(pods, key=lambda pod: (is_ready(pod), -_age_rank(pod)))[: max(0, len(pods) - wanted)]
        for pod in surplus:
            self._plane.delete(PODS, pod)
        again = self._report(found, failure)
        if failure:
            tries = self._failures[key] = self._failures.get(key, 0) + 1
            return max(self._plane.pace.backoff(tries), _LEAST_RETRY)
        self._failures.pop(key, None)
        return 0.0 if missing > _BURST else again

    def _create(self, owner: Obj) -> str:
        namespace = namespace_of(owner)
        name = self._names.take(owner)
        body = from_template(owner["spec"]["template"], name)
        account = missing_account(self._plane, namespace, body)
        if account:
            why = f'error looking up service account {namespace}/{account}: serviceaccount "{account}" not found'
            return f'pods "{name_of(owner)}-" is forbidden: {why}'
        try:
            pod = self._plane.create(PODS, namespace, body, owner=owner)
        except Refusal as refusal:
            self._names.refused(owner, name, refusal)
            return refusal.message
        self._plane.tell(self._kind, owner, "SuccessfulCreate", f"Created pod: {name_of(pod)}", normal=True)
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
            self._plane.tell(self._kind, owner, "FailedCreate", f"Error creating: {failure}")
        self._plane.set_status(self._kind, owner, status)
        return again


def _age_rank(pod: Obj) -> int:
    return int(text_at(pod, "metadata", "resourceVersion") or "0")
