"""DaemonSets: one pod on the one node."""

from collections.abc import Iterable

from locktender.embedded.cluster.controllers.plane import (
    DAEMON_SETS,
    PODS,
    Plane,
    controller_key,
    is_active,
    is_ready,
    template_hash,
)
from locktender.embedded.cluster.controllers.podkit import Availability, Names, from_template, labelled, missing_account
from locktender.embedded.cluster.controllers.scheduling import has_node
from locktender.embedded.cluster.objects import Change, Key
from locktender.embedded.cluster.refusal import Refusal
from locktender.embedded.cluster.shapes import Obj, int_at, is_going, labels_of, name_of, namespace_of, text_at, uid_of

_REVISION = "controller-revision-hash"
_RETRY = 2.0


class DaemonSetController:
    def __init__(self, plane: Plane) -> None:
        self._plane = plane
        self._availability = Availability(plane)
        self._names = Names()

    def keys(self, change: Change) -> Iterable[Key]:
        match change.key.kind:
            case "daemonsets.apps":
                if change.type == "DELETED":
                    self._names.forget(change.after)
                return [change.key]
            case "nodes":
                rows = self._plane.cluster.store.select(DAEMON_SETS)
                return [Key(DAEMON_SETS, namespace_of(row), name_of(row)) for row in rows]
            case "pods":
                if change.type == "DELETED":
                    self._availability.forget(uid_of(change.after))
                return controller_key(change.after, DAEMON_SETS, "DaemonSet")
            case _:
                return []

    def reconcile(self, key: Key) -> float | None:
        found = self._plane.get(DAEMON_SETS, key.namespace, key.name)
        if found is None or is_going(found):
            return None
        revision = template_hash(found["spec"]["template"])
        failed = self._step(found, revision)
        again = self._report(found, revision)
        return _RETRY * self._plane.pace.factor if failed else again

    def _step(self, found: Obj, revision: str) -> bool:
        pods = self._plane.children(found, PODS)
        active = [pod for pod in pods if is_active(pod)]
        if not has_node(self._plane, found["spec"]["template"]):
            for pod in active:
                self._plane.delete(PODS, pod)
            return False
        if not active:
            # The next pod waits until the old one has left the node.
            return not pods and not self._create(found, revision)
        outdated = labels_of(active[0]).get(_REVISION) != revision
        if outdated and text_at(found, "spec", "updateStrategy", "type") != "OnDelete":
            self._plane.delete(PODS, active[0])
        return False

    def _create(self, found: Obj, revision: str) -> bool:
        name = self._names.take(found)
        body = from_template(found["spec"]["template"], name)
        labelled(body, {_REVISION: revision})
        account = missing_account(self._plane, namespace_of(found), body)
        if account:
            message = f'Error creating: pods "{name_of(found)}-" is forbidden: serviceaccount "{account}" not found'
            self._plane.tell(DAEMON_SETS, found, "FailedCreate", message)
            return False
        try:
            pod = self._plane.create(PODS, namespace_of(found), body, owner=found)
        except Refusal as refusal:
            self._names.refused(found, name, refusal)
            self._plane.tell(DAEMON_SETS, found, "FailedCreate", f"Error creating: {refusal.message}")
            return False
        self._plane.tell(DAEMON_SETS, found, "SuccessfulCreate", f"Created pod: {name_of(pod)}", normal=True)
        return True

    def _report(self, found: Obj, revision: str) -> float | None:
        pods = [pod for pod in self._plane.children(found, PODS) if is_active(pod)]
        available, again = self._availability.count(pods, int_at(found, "spec", "minReadySeconds"))
        desired = int(has_node(self._plane, found["spec"]["template"]))
        status: Obj = {
            "observedGeneration": int_at(found, "metadata", "generation"),
            "desiredNumberScheduled": desired,
            "currentNumberScheduled": min(1, len(pods)),
            "updatedNumberScheduled": sum(labels_of(pod).get(_REVISION) == revision for pod in pods),
            "numberReady": sum(map(is_ready, pods)),
            "numberMisscheduled": 0,
        }
        counts = {"numberAvailable": available, "numberUnavailable": max(0, desired - available)}
        status |= {name: number for name, number in counts.items() if number}
        self._plane.set_status(DAEMON_SETS, found, status)
        return again
