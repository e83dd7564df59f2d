"""CronJobs create jobs when their schedule says so, on the clock of the cluster."""

from collections.abc import Iterable
from datetime import UTC, datetime, tzinfo
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from locktender.embedded.cluster.clock import STAMP
from locktender.embedded.cluster.controllers.jobs import is_finished
from locktender.embedded.cluster.controllers.plane import JOBS, Plane, condition, controller_key
from locktender.embedded.cluster.controllers.schedule import Schedule, parse
from locktender.embedded.cluster.objects import Change, Key
from locktender.embedded.cluster.refusal import Refusal
from locktender.embedded.cluster.shapes import (
    Obj,
    at,
    clone,
    int_at,
    is_going,
    name_of,
    namespace_of,
    obj_at,
    objs_at,
    text_at,
    uid_of,
)

KIND = "cronjobs.batch"
_MOST_MISSED = 100


class CronJobController:
    def __init__(self, plane: Plane) -> None:
        self._plane = plane

    def keys(self, change: Change) -> Iterable[Key]:
        if change.key.kind == KIND:
            return [] if change.type == "DELETED" else [change.key]
        return controller_key(change.after, KIND, "CronJob") if change.key.kind == JOBS else []

    def reconcile(self, key: Key) -> float | None:
        cron = self._plane.get(KIND, key.namespace, key.name)
        if cron is None or is_going(cron):
            return None
        jobs = self._plane.children(cron, JOBS)
        schedule, zone = parse(text_at(cron, "spec", "schedule")), _zone(cron)
        if schedule is None or zone is None:
            what = text_at(cron, "spec", "schedule") if schedule is None else text_at(cron, "spec", "timeZone")
            self._plane.tell(
                KIND, cron, "UnparseableSchedule" if schedule is None else "UnknownTimeZone", f"invalid: {what}"
            )
            return None
        now = self._plane.cluster.clock.now().astimezone(zone)
        made: datetime | None = None
        if at(cron, "spec", "suspend") is not True:
            due = self._due(cron, schedule, now)
            made = due if due is not None and self._run(cron, jobs, due) else None
        jobs = self._plane.children(cron, JOBS)
        self._trim(cron, jobs)
        self._report(cron, jobs, made)
        following = schedule.after(now)
        if following is None or at(cron, "spec", "suspend") is True:
            return None
        return max(0.0, (following - now).total_seconds())

    def _due(self, cron: Obj, schedule: Schedule, now: datetime) -> datetime | None:
        """The latest moment that has passed and had no job yet."""
        said = text_at(cron, "status", "lastScheduleTime") or text_at(cron, "metadata", "creationTimestamp")
        last = datetime.strptime(said, STAMP).replace(tzinfo=UTC).astimezone(now.tzinfo)
        deadline = at(cron, "spec", "startingDeadlineSeconds")
        due: datetime | None = None
        for _ in range(_MOST_MISSED):
            following = schedule.after(due or last)
            if following is None or following > now:
                break
            due = following
        late = due is not None and isinstance(deadline, int) and (now - due).total_seconds() > deadline
        return None if late else due

    def _run(self, cron: Obj, jobs: list[Obj], due: datetime) -> bool:
        """Create the job of a moment. Returns whether the moment is dealt with."""
        active = [job for job in jobs if not is_finished(job) and not is_going(job)]
        policy = text_at(cron, "spec", "concurrencyPolicy")
        if active and policy == "Forbid":
            message = "Not starting job because prior execution is running and concurrency policy is Forbid"
            self._plane.tell(KIND, cron, "JobAlreadyActive", message, normal=True)
            return False
        if policy == "Replace":
            for job in active:
                self._plane.delete(JOBS, job)
        template = obj_at(cron, "spec", "jobTemplate")
        metadata = clone(obj_at(template, "metadata"))
        moment = due.astimezone(UTC)
        annotations = obj_at(metadata, "annotations")
        body: Obj = {
            "metadata": {
                "name": f"{name_of(cron)}-{int(moment.timestamp()) // 60}",
                "labels": obj_at(metadata, "labels"),
                "annotations": annotations
                | {"batch.kubernetes.io/cronjob-scheduled-timestamp": moment.strftime(STAMP)},
            },
            "spec": clone(obj_at(template, "spec")),
        }
        try:
            job = self._plane.create(JOBS, namespace_of(cron), body, owner=cron)
        except Refusal as refusal:
            if refusal.code == 409:  # noqa: PLR2004 - it was created before, and the status was not written
                return True
            self._plane.tell(KIND, cron, "FailedCreate", f"Error creating job: {refusal.message}")
            return False
        self._plane.tell(KIND, cron, "SuccessfulCreate", f"Created job {name_of(job)}", normal=True)
        return True

    def _trim(self, cron: Obj, jobs: list[Obj]) -> None:
        for kind, field, default in (
            ("Complete", "successfulJobsHistoryLimit", 3),
            ("Failed", "failedJobsHistoryLimit", 1),
        ):
            done = [job for job in jobs if condition(objs_at(job, "status", "conditions"), kind)]
            done.sort(key=lambda job: text_at(job, "status", "startTime"))
            for job in done[: max(0, len(done) - int_at(cron, "spec", field, default=default))]:
                self._plane.delete(JOBS, job)

    def _report(self, cron: Obj, jobs: list[Obj], made: datetime | None) -> None:
        active = [job for job in jobs if not is_finished(job) and not is_going(job)]
        ends = [text_at(job, "status", "completionTime") for job in jobs]
        status: Obj = {}
        if active:
            status["active"] = [
                {"kind": "Job", "apiVersion": "batch/v1", "namespace": namespace_of(job), "name": name_of(job)}
                | {"uid": uid_of(job), "resourceVersion": text_at(job, "metadata", "resourceVersion")}
                for job in active
            ]
        last = made.astimezone(UTC).strftime(STAMP) if made else text_at(cron, "status", "lastScheduleTime")
        best = max([*ends, text_at(cron, "status", "lastSuccessfulTime")])
        status |= {"lastScheduleTime": last} if last else {}
        status |= {"lastSuccessfulTime": best} if best else {}
        known = {text_at(entry, "uid") for entry in objs_at(cron, "status", "active")}
        same = known == {uid_of(job) for job in active}
        rest = [{k: v for k, v in table.items() if k != "active"} for table in (status, obj_at(cron, "status"))]
        # The versions of running jobs change all the time; that alone is no news.
        if not same or rest[0] != rest[1]:
            self._plane.set_status(KIND, cron, status)


def _zone(cron: Obj) -> tzinfo | None:
    name = text_at(cron, "spec", "timeZone")
    try:
        return ZoneInfo(name) if name else UTC
    except (ZoneInfoNotFoundError, ValueError):
        return None
