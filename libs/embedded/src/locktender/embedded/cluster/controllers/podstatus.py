"""Writing the status of a pod, one method for each thing that can become of it."""

import zlib

from locktender.embedded.cluster.controllers.containers import container_status, ended, running, waiting
from locktender.embedded.cluster.controllers.plane import KUBELET, PODS, Plane, conditioned
from locktender.embedded.cluster.controllers.trouble import Trouble
from locktender.embedded.cluster.shapes import Obj, name_of, namespace_of, objs_at, text_at, uid_of

_PARTS = (("initContainers", "initContainerStatuses"), ("containers", "containerStatuses"))


class PodStatus:
    """Reports about one pod as it is stored now."""

    def __init__(self, plane: Plane, pod: Obj) -> None:
        self._plane = plane
        self._pod = pod

    def pending(self) -> None:
        """Seen for the first time."""
        if not text_at(self._pod, "status", "phase"):
            self._write({"phase": "Pending", "qosClass": "BestEffort"})

    def unschedulable(self, why: str) -> None:
        entry = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": why}
        self._write(self._base("Pending") | {"conditions": self._conditions(entry)})

    def creating(self) -> None:
        """Scheduled; images are being pulled."""
        has_init = bool(objs_at(self._pod, "spec", "initContainers"))
        status = self._base("Pending")
        for part, field in _PARTS:
            reason = "PodInitializing" if has_init and part == "containers" else "ContainerCreating"
            status[field] = [container_status(c, waiting(reason)) for c in objs_at(self._pod, "spec", part)]
        self._write(self._told(status, initialized=not has_init, ready=False))

    def troubled(self, trouble: Trouble) -> None:
        """One container is in trouble, the others do what they can."""
        status = self._base("Pending" if trouble.init or (not trouble.crashed and trouble.reason) else "Running")
        status["initContainerStatuses"] = [self._one(c, trouble, init=True) for c in self._of("initContainers")]
        status["containerStatuses"] = [self._one(c, trouble, init=False) for c in self._of("containers")]
        self._write(self._told(status, initialized=not trouble.init, ready=False))

    def failed(self, trouble: Trouble) -> None:
        """The pod failed for good."""
        self.ended(code=1, only=trouble.container)

    def running(self) -> None:
        """All containers run; none is ready yet."""
        self._write(self._told(self._all_running(ready=False), initialized=True, ready=False))

    def ready(self) -> None:
        self._write(self._told(self._all_running(ready=True), initialized=True, ready=True))

    def ended(self, *, code: int, only: str = "") -> None:
        """All containers ended; those that are not `only` with success."""
        status = self._base("Failed" if code else "Succeeded")
        now = self._plane.stamp
        for part, field in _PARTS:
            reports: list[Obj] = []
            for container in self._of(part):
                mine = code if part == "containers" and only in ("", text_at(container, "name")) else 0
                state = {"terminated": ended(self._began(), now, code=mine)}
                reports.append(container_status(container, state))
            status[field] = reports
        reason = "PodFailed" if code else "PodCompleted"
        self._write(self._told(status, initialized=True, ready=False, reason=reason))

    def _one(self, container: Obj, trouble: Trouble, *, init: bool) -> Obj:
        now = self._plane.stamp
        if text_at(container, "name") != trouble.container or init != trouble.init:
            if init:
                done = {"terminated": ended(self._began(), now, code=0)}
                return container_status(container, done if not trouble.init else waiting("PodInitializing"))
            if trouble.init:
                return container_status(container, waiting("PodInitializing"))
            return container_status(container, running(self._began()), ready=True)
        last = ended(self._began(), now, code=1) if trouble.crashed else None
        state = waiting(trouble.reason, trouble.message) if trouble.reason else running(now)
        return container_status(container, state, restarts=trouble.restarts, last=last)

    def _all_running(self, *, ready: bool) -> Obj:
        status = self._base("Running")
        done = {"terminated": ended(self._began(), self._began(), code=0)}
        status["initContainerStatuses"] = [container_status(c, done, ready=True) for c in self._of("initContainers")]
        known = {text_at(s, "name"): s for s in objs_at(self._pod, "status", "containerStatuses")}
        reports: list[Obj] = []
        for container in self._of("containers"):
            before = known.get(text_at(container, "name"), {})
            since = text_at(before, "state", "running", "startedAt") or self._plane.stamp
            restarts = before.get("restartCount", 0)
            reports.append(container_status(container, running(since), ready=ready, restarts=restarts))
        status["containerStatuses"] = reports
        return status

    def _of(self, part: str) -> list[Obj]:
        return objs_at(self._pod, "spec", part)

    def _began(self) -> str:
        return text_at(self._pod, "status", "startTime") or self._plane.stamp

    def _base(self, phase: str) -> Obj:
        number = zlib.crc32(uid_of(self._pod).encode())
        status: Obj = {"phase": phase, "qosClass": "BestEffort", "startTime": self._began()}
        if phase != "Pending":
            address = f"10.244.{number % 250}.{number // 250 % 250 + 2}"
            status |= {"podIP": address, "podIPs": [{"ip": address}], "hostIP": "10.0.0.1"}
        return status

    def _told(self, status: Obj, *, initialized: bool, ready: bool, reason: str = "") -> Obj:
        """Add the conditions."""
        names = [s["name"] for s in status["containerStatuses"] if not s["ready"]]
        unready: Obj = {} if ready else {"reason": reason or "ContainersNotReady"}
        if not ready and not reason:
            unready["message"] = f"containers with unready status: [{' '.join(names)}]"
        entries: list[Obj] = [
            {"type": "PodScheduled", "status": "True"},
            {"type": "Initialized", "status": "True" if initialized else "False"},
            {"type": "ContainersReady", "status": "True" if ready else "False"} | unready,
            {"type": "Ready", "status": "True" if ready else "False"} | unready,
        ]
        return status | {"conditions": self._conditions(*entries)}

    def _conditions(self, *entries: Obj) -> list[Obj]:
        conditions = objs_at(self._pod, "status", "conditions")
        for entry in entries:
            # What is no longer said must not stay behind from the last time.
            kept = [
                {k: v for k, v in c.items() if k not in ("reason", "message")}
                if c.get("type") == entry["type"] and c.get("status") != entry["status"]
                else c
                for c in conditions
            ]
            conditions = conditioned(kept, entry, self._plane.stamp)
        return conditions

    def _write(self, status: Obj) -> None:
        current = self._plane.get(PODS, namespace_of(self._pod), name_of(self._pod))
        if current is not None and uid_of(current) == uid_of(self._pod):
            cleaned = {name: value for name, value in status.items() if value != []}
            self._plane.set_status(PODS, current, cleaned, manager=KUBELET)
