"""StatefulSets: numbered pods, one after the other, each with its own claims."""

from collections.abc import Iterable

from locktender.embedded.cluster.controllers.plane import (
    CLAIMS,
    PODS,
    STATEFUL_SETS,
    Plane,
    controller_key,
    is_ready,
    template_hash,
)
from locktender.embedded.cluster.controllers.podkit import (
    Availability,
    from_template,
    labelled,
    missing_account,
)
from locktender.embedded.cluster.objects import Change, Key
from locktender.embedded.cluster.refusal import Refusal
from locktender.embedded.cluster.shapes import (
    Obj,
    at,
    clone,
    int_at,
    is_going,
    labels_of,
    name_of,
    namespace_of,
    obj_at,
    objs_at,
    own,
    text_at,
    uid_of,
)

_REVISION = "controller-revision-hash"
_RETRY = 2.0


class StatefulSetController:
    def __init__(self, plane: Plane) -> None:
        self._plane = plane
        self._availability = Availability(plane)

    def keys(self, change: Change) -> Iterable[Key]:
        match change.key.kind:
            case "statefulsets.apps":
                return [change.key]
            case "pods":
                if change.type == "DELETED":
                    self._availability.forget(uid_of(change.after))
                return controller_key(change.after, STATEFUL_SETS, "StatefulSet")
            case _:
                return []

    def reconcile(self, key: Key) -> float | None:
        found = self._plane.get(STATEFUL_SETS, key.namespace, key.name)
        if found is None or is_going(found):
            return None
        revision = f"{key.name}-{template_hash(found['spec']['template'])}"
        pods = {_ordinal(pod): pod for pod in self._plane.children(found, PODS)}
        failure = self._step(found, pods, revision)
        again = self._report(found, revision)
        return _RETRY * self._plane.pace.factor if failure else again

    def _step(self, found: Obj, pods: dict[int, Obj], revision: str) -> str:
        """Do what may be done now: at most one thing when pods are kept in order."""
        replicas = int_at(found, "spec", "replicas", default=1)
        in_order = text_at(found, "spec", "podManagementPolicy") != "Parallel"
        for ordinal in range(replicas):
            pod = pods.get(ordinal)
            if pod is None:
                failure = self._create(found, ordinal, revision)
                if failure or in_order:
                    return failure
            elif in_order and not is_ready(pod):
                return ""
        for ordinal in sorted((n for n in pods if n >= replicas), reverse=True):
            if not is_going(pods[ordinal]):
                self._plane.delete(PODS, pods[ordinal])
            if in_order:
                return ""
        self._update(found, pods, revision, replicas)
        return ""

    def _update(self, found: Obj, pods: dict[int, Obj], revision: str, replicas: int) -> None:
        strategy = obj_at(found, "spec", "updateStrategy")
        if text_at(strategy, "type") == "OnDelete":
            return
        partition = int_at(strategy, "rollingUpdate", "partition")
        for ordinal in range(replicas - 1, partition - 1, -1):
            pod = pods.get(ordinal)
            if pod is None or is_going(pod):
                return
            if labels_of(pod).get(_REVISION) != revision:
                self._plane.delete(PODS, pod)
                return
            if not is_ready(pod):
                return

    def _create(self, found: Obj, ordinal: int, revision: str) -> str:
        name, namespace = f"{name_of(found)}-{ordinal}", namespace_of(found)
        body = from_template(found["spec"]["template"], name)
        labelled(
            body,
            {
                _REVISION: revision,
                "statefulset.kubernetes.io/pod-name": name,
                "apps.kubernetes.io/pod-index": str(ordinal),
            },
        )
        account = missing_account(self._plane, namespace, body)
        if account:
            why = f'serviceaccount "{account}" not found'
            message = (
                f'create Pod {name} in StatefulSet {name_of(found)} failed error: pods "{name}" is forbidden: {why}'
            )
            self._plane.tell(STATEFUL_SETS, found, "FailedCreate", message)
            return message
        body["spec"] |= {"hostname": name, "subdomain": text_at(found, "spec", "serviceName")}
        try:
            self._claim(found, body, name)
            self._plane.create(PODS, namespace, body, owner=found)
        except Refusal as refusal:
            # A template that makes no valid object; or the pod of an earlier set of that name has not left yet.
            self._plane.tell(STATEFUL_SETS, found, "FailedCreate", refusal.message)
            return refusal.message
        told = f"create Pod {name} in StatefulSet {name_of(found)} successful"
        self._plane.tell(STATEFUL_SETS, found, "SuccessfulCreate", told, normal=True)
        return ""

    def _claim(self, found: Obj, body: Obj, pod_name: str) -> None:
        volumes = objs_at(body, "spec", "volumes")
        for template in objs_at(found, "spec", "volumeClaimTemplates"):
            name = f"{name_of(template)}-{pod_name}"
            if self._plane.get(CLAIMS, namespace_of(found), name) is None:
                metadata = clone(obj_at(template, "metadata"))
                labels = labels_of(template) | obj_at(found, "spec", "selector", "matchLabels")
                claim: Obj = {
                    "metadata": metadata | {"name": name, "labels": clone(labels)},
                    "spec": clone(obj_at(template, "spec")),
                }
                self._plane.create(CLAIMS, namespace_of(found), claim)
            volumes = [v for v in volumes if v.get("name") != name_of(template)]
            volumes.append({"name": name_of(template), "persistentVolumeClaim": {"claimName": name}})
        if volumes:
            own(body, "spec")["volumes"] = volumes

    def _report(self, found: Obj, revision: str) -> float | None:
        pods = self._plane.children(found, PODS)
        available, again = self._availability.count(pods, int_at(found, "spec", "minReadySeconds"))
        updated = sum(labels_of(pod).get(_REVISION) == revision for pod in pods)
        # The current revision follows the update revision once every pod has been updated.
        current = text_at(found, "status", "currentRevision") or revision
        if updated == len(pods) == int_at(found, "spec", "replicas", default=1) and all(map(is_ready, pods)):
            current = revision
        status: Obj = {
            "observedGeneration": int_at(found, "metadata", "generation"),
            "replicas": len(pods),
            "readyReplicas": sum(map(is_ready, pods)),
            "availableReplicas": available,
            "currentReplicas": sum(labels_of(pod).get(_REVISION) == current for pod in pods),
            "updatedReplicas": updated,
            "currentRevision": current,
            "updateRevision": revision,
            "collisionCount": at(found, "status", "collisionCount") or 0,
        }
        self._plane.set_status(STATEFUL_SETS, found, status)
        return again


def _ordinal(pod: Obj) -> int:
    tail = name_of(pod).rpartition("-")[2]
    return int(tail) if tail.isdigit() else -1
