"""Writing the status of a pod, one method for each thing that can become of it."""

import zlib

from locktender.embedded.cluster.controllers.containers import (
    container_status,
    ended,
    is_sidecar,
    quality,
    running,
    waiting,
)
from locktender.embedded.cluster.controllers.plane import KUBELET, PODS, Plane, conditioned
from locktender.embedded.cluster.controllers.trouble import Trouble
from locktender.embedded.cluster.shapes import Obj, int_at, name_of, namespace_of, obj_at, objs_at, text_at, uid_of

_NOTHING: Obj = {}
_PARTS = (("initContainers", "initContainerStatuses"), ("containers", "containerStatuses"))


class PodStatus:
    """Reports about one pod as it is stored now."""

    def __init__(self, plane: Plane, pod: Obj) -> None:
        self._plane = plane
        self._pod = pod

    def pending(self) -> None:
        """Seen for the first time."""
        if not text_at(self._pod, "status", "phase"):
            self._write({"phase": "Pending", "qosClass": quality(self._pod)})

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
        status = self._base("Pending" if trouble.init or (not trouble.code and trouble.reason) else "Running")
        earlier = True
        for part, field in _PARTS:
            reports: list[Obj] = []
            for container in self._of(part):
                hit = text_at(container, "name") == trouble.container and (part == "initContainers") == trouble.init
                earlier = earlier and not hit
                reports.append(
                    self._in_trouble(container, trouble)
                    if hit
                    else self._beside(container, part, trouble, earlier=earlier)
                )
            status[field] = reports
        self._write(self._told(status, initialized=not trouble.init, ready=False))

    def failed(self, trouble: Trouble) -> None:
        """The pod failed for good."""
        self.ended(code=trouble.code or 1, only=trouble.container, reason=trouble.ending)

    def running(self, *, ready: bool) -> None:
        """All containers run."""
        self._write(self._told(self._all_running(ready=ready), initialized=True, ready=ready))

    def ended(self, *, code: int, only: str = "", reason: str = "") -> None:
        """All containers ended; those that are not `only` with success."""
        status = self._base("Failed" if code else "Succeeded")
        now = self._plane.stamp
        for part, field in _PARTS:
            reports: list[Obj] = []
            for container in self._of(part):
                name = text_at(container, "name")
                mine = code if name == only or (not only and part == "containers") else 0
                state = {"terminated": ended(self._since(name), now, code=mine, reason=reason if mine else "")}
                reports.append(container_status(container, state))
            status[field] = reports
        why = "PodFailed" if code else "PodCompleted"
        self._write(self._told(status, initialized=True, ready=False, reason=why))

    def _in_trouble(self, container: Obj, trouble: Trouble) -> Obj:
        now = self._plane.stamp
        last = self._last(trouble.container)
        if trouble.code and (trouble.reason or not last):
            last = ended(self._since(trouble.container), now, code=trouble.code, reason=trouble.ending)
        state = waiting(trouble.reason, trouble.message) if trouble.reason else running(now)
        return container_status(container, state, restarts=trouble.restarts, last=last)

    def _beside(self, container: Obj, part: str, trouble: Trouble, *, earlier: bool) -> Obj:
        """A container that is not in trouble itself."""
        if part == "initContainers" and earlier:
            return self._initialized(container)
        if trouble.init:
            return container_status(container, waiting("PodInitializing"))
        return container_status(container, running(self._since(text_at(container, "name"))), ready=True)

    def _initialized(self, container: Obj) -> Obj:
        if is_sidecar(container):
            return container_status(container, running(self._since(text_at(container, "name"))), ready=True)
        done = {"terminated": ended(self._began(), self._began(), code=0)}
        return container_status(container, done, ready=True)

    def _all_running(self, *, ready: bool) -> Obj:
        status = self._base("Running")
        status["initContainerStatuses"] = [self._initialized(c) for c in self._of("initContainers")]
        reports: list[Obj] = []
        for container in self._of("containers"):
            name = text_at(container, "name")
            state, last, restarts = (
                running(self._since(name)),
                self._last(name),
                int_at(self._known(name), "restartCount"),
            )
            reports.append(container_status(container, state, ready=ready, restarts=restarts, last=last))
        status["containerStatuses"] = reports
        return status

    def _known(self, name: str) -> Obj:
        """What was last reported about a container."""
        rows = [status for _, field in _PARTS for status in objs_at(self._pod, "status", field)]
        return next((status for status in rows if status.get("name") == name), _NOTHING)

    def _since(self, name: str) -> str:
        return text_at(self._known(name), "state", "running", "startedAt") or self._plane.stamp

    def _last(self, name: str) -> Obj:
        return obj_at(self._known(name), "lastState", "terminated")

    def _of(self, part: str) -> list[Obj]:
        return objs_at(self._pod, "spec", part)

    def _began(self) -> str:
        return text_at(self._pod, "status", "startTime") or self._plane.stamp

    def _base(self, phase: str) -> Obj:
        number = zlib.crc32(uid_of(self._pod).encode())
        status: Obj = {"phase": phase, "qosClass": quality(self._pod), "startTime": self._began()}
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
            {"type": "Initialized", "status": "True" if initialized else "False"}
            | self._incomplete(initialized=initialized),
            {"type": "ContainersReady", "status": "True" if ready else "False"} | unready,
            {"type": "Ready", "status": "True" if ready else "False"} | unready,
        ]
        return status | {"conditions": self._conditions(*entries)}

    def _incomplete(self, *, initialized: bool) -> Obj:
        if initialized:
            return {}
        names = " ".join(text_at(c, "name") for c in self._of("initContainers"))
        message = f"containers with incomplete status: [{names}]"
        return {"reason": "ContainersNotInitialized", "message": message}

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
