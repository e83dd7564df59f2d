"""Pods: scheduled, started and made ready, or kept from it, step by step. Plays the scheduler and the kubelet."""

from collections.abc import Iterable

from locktender.embedded.cluster.controllers.behaviour import PARTS, behaviour_of, longest
from locktender.embedded.cluster.controllers.plane import PODS, Plane
from locktender.embedded.cluster.controllers.podcourse import Course, Stage, begun
from locktender.embedded.cluster.controllers.podstatus import PodStatus
from locktender.embedded.cluster.controllers.references import missing_volume
from locktender.embedded.cluster.controllers.scheduling import BINDING_TIMED_OUT, unschedulable, waits_for_volume
from locktender.embedded.cluster.controllers.trouble import trouble_of
from locktender.embedded.cluster.objects import Change, Key
from locktender.embedded.cluster.shapes import (
    Obj,
    clone,
    int_at,
    is_going,
    list_at,
    name_of,
    namespace_of,
    objs_at,
    text_at,
    uid_of,
)

NODE = "sandbox"
_PROBE_EVERY = 10.0
# Looks that the scheduler takes at a claim within its ten minutes.
_BINDING_TRIES = 62
_WAKES = frozenset({"configmaps", "secrets", "persistentvolumeclaims", "nodes"})


class PodController:
    def __init__(self, plane: Plane) -> None:
        self._plane = plane
        self._courses: dict[str, Course] = {}
        # Pods that wait for something that somebody may create, by namespace.
        self._stuck: dict[str, dict[str, str]] = {}

    def keys(self, change: Change) -> Iterable[Key]:
        kind = change.key.kind
        if kind == PODS:
            if change.type == "DELETED":
                self._courses.pop(uid_of(change.after), None)
                self._free(change.after)
                return []
            return [change.key]
        return self._hopeful(change.key.namespace) if kind in _WAKES else []

    def _hopeful(self, namespace: str) -> list[Key]:
        """Pods that wait for something and may find it now."""
        spaces = [namespace] if namespace else list(self._stuck)
        found: list[Key] = []
        for space in spaces:
            for uid, name in self._stuck.get(space, {}).items():
                if self._courses[uid].stage in ("scheduling", "starting"):
                    self._courses[uid].due = self._plane.now
                    found.append(Key(PODS, space, name))
        return found

    def _free(self, pod: Obj) -> None:
        self._stuck.get(namespace_of(pod), {}).pop(uid_of(pod), None)

    def _hold(self, pod: Obj) -> None:
        self._stuck.setdefault(namespace_of(pod), {})[uid_of(pod)] = name_of(pod)

    def reconcile(self, key: Key) -> float | None:
        pod = self._plane.get(PODS, key.namespace, key.name)
        if pod is None:
            return None
        course = self._courses.get(uid_of(pod))
        if course is None:
            course = self._courses[uid_of(pod)] = self._begin(pod)
            self._report(pod).pending()
            pod = self._plane.get(PODS, key.namespace, key.name) or pod
        if is_going(pod) and course.stage != "leaving":
            course.stage, course.due = "leaving", self._plane.now + self._stopping(pod)
        if course.stage == "done":
            return None
        left = course.due - self._plane.now
        return left if left > 0 else self._advance(pod, course)

    def _begin(self, pod: Obj) -> Course:
        stage, attempt = begun(pod)
        delay = 0.0 if stage == "done" else self._delay(self._plane.pace.scheduling, pod)
        return Course(stage, self._plane.now + delay, attempt)

    def _stopping(self, pod: Obj) -> float:
        slow = longest(pod, self._images, "slow-stop")
        if slow is None:
            return self._delay(self._plane.pace.termination, pod)
        return min(slow, int_at(pod, "metadata", "deletionGracePeriodSeconds")) * self._plane.pace.factor

    @property
    def _images(self) -> dict[str, str]:
        return self._plane.cluster.faults.images

    def _delay(self, span: tuple[float, float], pod: Obj) -> float:
        return self._plane.pace.between(span, name_of(pod))

    def _report(self, pod: Obj) -> PodStatus:
        return PodStatus(self._plane, pod)

    def _advance(self, pod: Obj, course: Course) -> float | None:  # noqa: PLR0911 - one for each stage
        match course.stage:
            case "scheduling":
                return self._schedule(pod, course)
            case "starting":
                return self._start(pod, course)
            case "readying":
                return self._probe(pod, course)
            case "serving":
                return self._break(pod, course)
            case "working":
                return self._end_work(pod, course)
            case "leaving":
                return self._leave(pod)
            case "done":
                return None

    def _next(self, course: Course, stage: Stage, delay: float) -> float:
        course.stage, course.attempt, course.due = stage, 0, self._plane.now + delay
        return delay

    def _again(self, course: Course, *, after: float | None = None) -> float:
        delay = self._plane.pace.backoff(course.attempt) if after is None else after
        course.attempt += 1
        course.due = self._plane.now + delay
        return delay

    def _schedule(self, pod: Obj, course: Course) -> float:
        why = "" if text_at(pod, "spec", "nodeName") else unschedulable(self._plane, pod)
        if why:
            if not course.attempt:
                self._plane.tell(PODS, pod, "FailedScheduling", why)
            self._report(pod).unschedulable(why)
            self._hold(pod)
            return self._again(course)
        if waits_for_volume(self._plane, pod):
            if course.attempt == _BINDING_TRIES:
                self._plane.tell(PODS, pod, "FailedScheduling", BINDING_TIMED_OUT)
                self._report(pod).unschedulable(BINDING_TIMED_OUT)
            self._hold(pod)
            return self._again(course)
        self._free(pod)
        if not text_at(pod, "spec", "nodeName"):
            bound = clone(pod)
            bound["spec"]["nodeName"] = NODE
            pod = self._plane.replace(PODS, bound)
        where = f"Successfully assigned {namespace_of(pod)}/{name_of(pod)} to {NODE}"
        self._plane.tell(PODS, pod, "Scheduled", where, normal=True)
        self._report(pod).creating()
        slow = longest(pod, self._images, "slow") or 0.0
        delay = self._delay(self._plane.pace.starting, pod) + slow * self._plane.pace.factor
        return self._next(course, "starting", delay)

    def _start(self, pod: Obj, course: Course) -> float | None:
        why = missing_volume(self._plane, pod)
        if why:
            self._plane.tell(PODS, pod, "FailedMount", why)
            self._hold(pod)
            return self._again(course)
        trouble = trouble_of(self._plane, pod, course.attempt, broken=course.broken)
        if trouble is None:
            self._free(pod)
            self._report(pod).running(ready=False)
            if text_at(pod, "spec", "restartPolicy") != "Always":
                return self._next(course, "working", self._delay(self._plane.pace.job, pod))
            return self._next(course, "readying", self._delay(self._plane.pace.readiness, pod))
        if trouble.fatal:
            self._report(pod).failed(trouble)
            course.stage = "done"
            return None
        for reason, message in trouble.events:
            self._plane.tell(PODS, pod, reason, message)
        self._report(pod).troubled(trouble)
        if trouble.missing:
            self._hold(pod)
        return self._again(course)

    def _probe(self, pod: Obj, course: Course) -> float | None:
        if longest(pod, self._images, "never-ready") is not None or (
            course.broken and longest(pod, self._images, "unready-after") is not None
        ):
            self._plane.tell(PODS, pod, "Unhealthy", "Readiness probe failed: HTTP probe failed with statuscode: 503")
            return self._again(course, after=_PROBE_EVERY * max(self._plane.pace.factor, 0.01))
        self._report(pod).running(ready=True)
        breaks = [longest(pod, self._images, manner) for manner in ("crash-after", "unready-after")]
        known = [seconds for seconds in breaks if seconds is not None]
        if known and not course.broken:
            return self._next(course, "serving", min(known) * self._plane.pace.factor)
        course.stage = "done"
        return None

    def _break(self, pod: Obj, course: Course) -> float | None:
        """What got ready is not any more."""
        course.broken = True
        if longest(pod, self._images, "crash-after") is not None:
            course.stage, course.attempt = "starting", 1
            return self._start(pod, course)
        self._report(pod).running(ready=False)
        course.stage = "readying"
        return self._probe(pod, course)

    def _end_work(self, pod: Obj, course: Course) -> float | None:
        course.stage = "done"
        for container in objs_at(pod, "spec", PARTS[1]):
            behaviour = behaviour_of(pod, container, self._images)
            if behaviour.manner == "job-fail":
                self._report(pod).ended(code=behaviour.code)
                return None
        self._report(pod).ended(code=0)
        return None

    def _leave(self, pod: Obj) -> float | None:
        if not list_at(pod, "metadata", "finalizers"):
            self._plane.cluster.store.remove(Key(PODS, namespace_of(pod), name_of(pod)))
        return None
