"""Pods: scheduled, started and made ready, or kept from it, step by step. Plays the scheduler and the kubelet."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, TypeAlias

from locktender.embedded.cluster.controllers.behaviour import behaviour_of
from locktender.embedded.cluster.controllers.plane import PODS, Plane
from locktender.embedded.cluster.controllers.podstatus import PodStatus
from locktender.embedded.cluster.controllers.references import claim_names, missing_volume, unbound_claim
from locktender.embedded.cluster.controllers.trouble import trouble_of
from locktender.embedded.cluster.objects import Change, Key
from locktender.embedded.cluster.shapes import Obj, clone, is_going, list_at, name_of, objs_at, text_at, uid_of

NODE = "sandbox"

Stage: TypeAlias = Literal["scheduling", "starting", "readying", "working", "leaving", "done"]


@dataclass(slots=True)
class _Course:
    """How far a pod has come. `attempt` counts the tries of its present stage."""

    stage: Stage
    due: float
    attempt: int = 0


class PodController:
    def __init__(self, plane: Plane) -> None:
        self._plane = plane
        self._courses: dict[str, _Course] = {}

    def keys(self, change: Change) -> Iterable[Key]:
        match change.key.kind:
            case "pods":
                if change.type == "DELETED":
                    self._courses.pop(uid_of(change.after), None)
                    return []
                return [change.key]
            case "configmaps" | "secrets" | "persistentvolumeclaims":
                return self._hopeful(change.key.namespace)
            case _:
                return []

    def _hopeful(self, namespace: str) -> list[Key]:
        """Pods that wait for something and may find it now."""
        found: list[Key] = []
        for pod in self._plane.cluster.store.select(PODS, namespace):
            course = self._courses.get(uid_of(pod))
            if course is not None and course.attempt and course.stage in ("scheduling", "starting"):
                course.due = self._plane.now
                found.append(Key(PODS, namespace, name_of(pod)))
        return found

    def reconcile(self, key: Key) -> float | None:
        pod = self._plane.get(PODS, key.namespace, key.name)
        if pod is None:
            return None
        course = self._courses.get(uid_of(pod))
        if course is None:
            delay = self._delay(self._plane.pace.scheduling, pod)
            self._courses[uid_of(pod)] = _Course("scheduling", self._plane.now + delay)
            self._report(pod).pending()
            return delay
        if is_going(pod) and course.stage != "leaving":
            course.stage, course.due = "leaving", self._plane.now + self._delay(self._plane.pace.termination, pod)
        if course.stage == "done":
            return None
        left = course.due - self._plane.now
        return left if left > 0 else self._advance(pod, course)

    def _delay(self, span: tuple[float, float], pod: Obj) -> float:
        return self._plane.pace.between(span, name_of(pod))

    def _report(self, pod: Obj) -> PodStatus:
        return PodStatus(self._plane, pod)

    def _advance(self, pod: Obj, course: _Course) -> float | None:
        match course.stage:
            case "scheduling":
                return self._schedule(pod, course)
            case "starting":
                return self._start(pod, course)
            case "readying":
                return self._become_ready(pod, course)
            case "working":
                return self._end_work(pod, course)
            case "leaving":
                return self._leave(pod)
            case "done":
                return None

    def _next(self, course: _Course, stage: Stage, delay: float) -> float:
        course.stage, course.attempt, course.due = stage, 0, self._plane.now + delay
        return delay

    def _again(self, course: _Course) -> float:
        delay = self._plane.pace.backoff(course.attempt)
        course.attempt += 1
        course.due = self._plane.now + delay
        return delay

    def _schedule(self, pod: Obj, course: _Course) -> float:
        why = unbound_claim(self._plane, pod) if claim_names(pod) else ""
        if why:
            if not course.attempt:
                self._plane.tell(PODS, pod, "FailedScheduling", why)
            self._report(pod).unschedulable(why)
            return self._again(course)
        if not text_at(pod, "spec", "nodeName"):
            bound = clone(pod)
            bound["spec"]["nodeName"] = NODE
            pod = self._plane.replace(PODS, bound)
        where = f"Successfully assigned {pod['metadata']['namespace']}/{name_of(pod)} to {NODE}"
        self._plane.tell(PODS, pod, "Scheduled", where, normal=True)
        self._report(pod).creating()
        containers = [*objs_at(pod, "spec", "initContainers"), *objs_at(pod, "spec", "containers")]
        images = self._plane.cluster.faults.images
        slow = max((behaviour_of(pod, c, images).seconds for c in containers), default=0.0)
        delay = self._delay(self._plane.pace.starting, pod) + slow * self._plane.pace.factor
        return self._next(course, "starting", delay)

    def _start(self, pod: Obj, course: _Course) -> float | None:
        why = missing_volume(self._plane, pod)
        if why:
            self._plane.tell(PODS, pod, "FailedMount", why)
            return self._again(course)
        trouble = trouble_of(self._plane, pod, course.attempt)
        if trouble is not None:
            if trouble.fatal:
                self._report(pod).failed(trouble)
                course.stage = "done"
                return None
            if trouble.reason:
                self._plane.tell(PODS, pod, trouble.event, trouble.message)
            self._report(pod).troubled(trouble)
            return self._again(course)
        self._report(pod).running()
        if text_at(pod, "spec", "restartPolicy") != "Always":
            return self._next(course, "working", self._delay(self._plane.pace.job, pod))
        return self._next(course, "readying", self._delay(self._plane.pace.readiness, pod))

    def _become_ready(self, pod: Obj, course: _Course) -> float | None:
        course.stage = "done"
        images = self._plane.cluster.faults.images
        if any(behaviour_of(pod, c, images).manner == "never-ready" for c in objs_at(pod, "spec", "containers")):
            self._plane.tell(PODS, pod, "Unhealthy", "Readiness probe failed: HTTP probe failed with statuscode: 503")
            return None
        self._report(pod).ready()
        return None

    def _end_work(self, pod: Obj, course: _Course) -> float | None:
        course.stage = "done"
        images = self._plane.cluster.faults.images
        broken = any(behaviour_of(pod, c, images).manner == "job-fail" for c in objs_at(pod, "spec", "containers"))
        self._report(pod).ended(code=1 if broken else 0)
        return None

    def _leave(self, pod: Obj) -> float | None:
        if not list_at(pod, "metadata", "finalizers"):
            self._plane.cluster.store.remove(Key(PODS, pod["metadata"]["namespace"], name_of(pod)))
        return None
