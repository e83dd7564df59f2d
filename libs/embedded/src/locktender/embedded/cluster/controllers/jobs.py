"""Jobs: pods that run to their end, tried again until the job is complete or has failed too often."""

from collections.abc import Iterable

from locktender.embedded.cluster.controllers.plane import (
    JOBS,
    PODS,
    Plane,
    condition,
    conditioned,
    controller_key,
    is_active,
    is_ready,
)
from locktender.embedded.cluster.controllers.podkit import Names, from_template, labelled, missing_account
from locktender.embedded.cluster.objects import Change, Key
from locktender.embedded.cluster.refusal import Refusal
from locktender.embedded.cluster.shapes import (
    Obj,
    at,
    int_at,
    is_going,
    name_of,
    namespace_of,
    objs_at,
    text_at,
    uid_of,
)

_RETRY = 2.0


class JobController:
    def __init__(self, plane: Plane) -> None:
        self._plane = plane
        self._began: dict[str, float] = {}
        self._ended: dict[str, float] = {}
        self._names = Names()

    def keys(self, change: Change) -> Iterable[Key]:
        match change.key.kind:
            case "jobs.batch":
                if change.type == "DELETED":
                    self._began.pop(uid_of(change.after), None)
                    self._ended.pop(uid_of(change.after), None)
                    self._names.forget(change.after)
                    return []
                return [change.key]
            case "pods":
                return controller_key(change.after, JOBS, "Job")
            case _:
                return []

    def reconcile(self, key: Key) -> float | None:
        job = self._plane.get(JOBS, key.namespace, key.name)
        if job is None or is_going(job):
            return None
        if is_finished(job):
            return self._expire(job)
        if at(job, "spec", "suspend") is True:
            return self._suspend(job)
        job = self._resume(job)
        pods = self._plane.children(job, PODS)
        ended = self._verdict(job, pods)
        if ended is not None:
            self._finish(job, pods, *ended)
            return None
        left, late = self._deadline(job)
        failure = self._fill(job, pods)
        self._report(job, [])
        waits = [s for s in (left, _RETRY * self._plane.pace.factor if failure else None) if s is not None]
        return 0.0 if late else min(waits, default=None)

    def _verdict(self, job: Obj, pods: list[Obj]) -> tuple[str, str, str] | None:
        """Type, reason and message of the condition that ends the job."""
        succeeded, failed = _count(pods, "Succeeded"), _count(pods, "Failed")
        if succeeded >= int_at(job, "spec", "completions", default=1):
            return "Complete", "CompletionsReached", "Reached expected number of succeeded pods"
        limit = int_at(job, "spec", "backoffLimit", default=6)
        restarts = _restarts(job, pods)
        if failed > limit or (restarts > 0 and restarts >= limit):
            return "Failed", "BackoffLimitExceeded", "Job has reached the specified backoff limit"
        if self._deadline(job)[1]:
            return "Failed", "DeadlineExceeded", "Job was active longer than specified deadline"
        return None

    def _deadline(self, job: Obj) -> tuple[float | None, bool]:
        """Seconds left of `activeDeadlineSeconds`, and whether it has passed."""
        began = self._began.setdefault(uid_of(job), self._plane.since(text_at(job, "status", "startTime")))
        seconds = at(job, "spec", "activeDeadlineSeconds")
        if not isinstance(seconds, int):
            return None, False
        left = began + seconds - self._plane.now
        return left, left <= 0

    def _fill(self, job: Obj, pods: list[Obj]) -> bool:
        active = sum(map(is_active, pods))
        missing = int_at(job, "spec", "completions", default=1) - _count(pods, "Succeeded")
        room = min(int_at(job, "spec", "parallelism", default=1), missing) - active
        for _ in range(room):
            name = self._names.take(job)
            body = from_template(job["spec"]["template"], name)
            labels = {"job-name": name_of(job), "controller-uid": uid_of(job)}
            labelled(body, labels | {f"batch.kubernetes.io/{name}": value for name, value in labels.items()})
            account = missing_account(self._plane, namespace_of(job), body)
            if account:
                message = f'Error creating: pods "{name_of(job)}-" is forbidden: serviceaccount "{account}" not found'
                self._plane.tell(JOBS, job, "FailedCreate", message)
                return True
            try:
                pod = self._plane.create(PODS, namespace_of(job), body, owner=job)
            except Refusal as refusal:
                self._names.refused(job, name, refusal)
                self._plane.tell(JOBS, job, "FailedCreate", f"Error creating: {refusal.message}")
                return True
            self._plane.tell(JOBS, job, "SuccessfulCreate", f"Created pod: {name_of(pod)}", normal=True)
        return False

    def _finish(self, job: Obj, pods: list[Obj], kind: str, reason: str, message: str) -> None:
        for pod in pods:
            if is_active(pod):
                self._plane.delete(PODS, pod, grace=0)
        first = "SuccessCriteriaMet" if kind == "Complete" else "FailureTarget"
        entries = [{"type": name, "status": "True", "reason": reason, "message": message} for name in (first, kind)]
        self._ended[uid_of(job)] = self._plane.now
        self._report(job, entries)
        event = "Completed" if kind == "Complete" else reason
        self._plane.tell(JOBS, job, event, message if kind == "Failed" else "Job completed", normal=kind == "Complete")

    def _report(self, job: Obj, entries: list[Obj], *, started: bool = True) -> None:
        pods = self._plane.children(job, PODS)
        conditions = objs_at(job, "status", "conditions")
        for entry in entries:
            conditions = conditioned(conditions, entry, self._plane.stamp)
        status: Obj = {"startTime": text_at(job, "status", "startTime") or self._plane.stamp} if started else {}
        counts = {
            "active": sum(map(is_active, pods)),
            "ready": sum(is_ready(pod) for pod in pods if is_active(pod)),
            "succeeded": _count(pods, "Succeeded"),
            "failed": _count(pods, "Failed"),
            "terminating": sum(map(is_going, pods)),
        }
        status |= {name: number for name, number in counts.items() if number or name in ("ready", "terminating")}
        if conditions:
            status["conditions"] = conditions
        if any(entry["type"] == "Complete" for entry in entries):
            status["completionTime"] = self._plane.stamp
        self._plane.set_status(JOBS, job, status)

    def _suspend(self, job: Obj) -> None:
        for pod in self._plane.children(job, PODS):
            if is_active(pod):
                self._plane.delete(PODS, pod, grace=0)
        if _suspended(job) != "True":
            self._plane.tell(JOBS, job, "Suspended", "Job suspended", normal=True)
        entry = {"type": "Suspended", "status": "True", "reason": "JobSuspended", "message": "Job suspended"}
        # The time of a suspended job stands still: it starts anew when it is resumed.
        self._began.pop(uid_of(job), None)
        self._report(job, [entry], started=False)

    def _resume(self, job: Obj) -> Obj:
        if _suspended(job) != "True":
            return job
        self._plane.tell(JOBS, job, "Resumed", "Job resumed", normal=True)
        entry = {"type": "Suspended", "status": "False", "reason": "JobResumed", "message": "Job resumed"}
        self._report(job, [entry])
        return self._plane.get(JOBS, namespace_of(job), name_of(job)) or job

    def _expire(self, job: Obj) -> float | None:
        seconds = at(job, "spec", "ttlSecondsAfterFinished")
        if not isinstance(seconds, int):
            return None
        since = self._plane.since(_end_of(job))
        left = self._ended.setdefault(uid_of(job), since) + seconds - self._plane.now
        if left > 0:
            return left
        self._plane.delete(JOBS, job)
        return None


def is_finished(job: Obj) -> bool:
    conditions = objs_at(job, "status", "conditions")
    return any((found := condition(conditions, kind)) and found["status"] == "True" for kind in ("Complete", "Failed"))


def _suspended(job: Obj) -> str:
    return text_at(condition(objs_at(job, "status", "conditions"), "Suspended"), "status")


def _end_of(job: Obj) -> str:
    conditions = objs_at(job, "status", "conditions")
    ends = [found for kind in ("Complete", "Failed") if (found := condition(conditions, kind))]
    return text_at(ends[0], "lastTransitionTime") if ends else ""


def _restarts(job: Obj, pods: list[Obj]) -> int:
    """How often containers were started again, where that and not a new pod is the next try."""
    if text_at(job, "spec", "template", "spec", "restartPolicy") != "OnFailure":
        return 0
    fields = ("initContainerStatuses", "containerStatuses")
    rows = [s for pod in pods if is_active(pod) for field in fields for s in objs_at(pod, "status", field)]
    return sum(int_at(row, "restartCount") for row in rows)


def _count(pods: list[Obj], phase: str) -> int:
    return sum(text_at(pod, "status", "phase") == phase for pod in pods)
