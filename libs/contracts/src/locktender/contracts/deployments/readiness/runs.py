"""Pods by themselves, Jobs and CronJobs: things that may come to an end."""

from dataclasses import replace

from locktender.contracts.deployments.cards import (
    CardStatus,
    Deadline,
    Grace,
    Readiness,
    Trouble,
    creating,
    failed,
    pending,
    ready,
    troubled,
)
from locktender.contracts.deployments.observed import (
    Observed,
    Related,
    condition,
    flag,
    is_true,
    name_of,
    number,
    part,
    parts,
    text,
)
from locktender.contracts.deployments.readiness.containers import last_words
from locktender.contracts.deployments.readiness.pods import about, is_leaving, latest, said_of
from locktender.contracts.deployments.readiness.workloads import complete, on_the_way

_JOB_HINTS = {
    "BackoffLimitExceeded": "see why with `kubectl logs job/{name}`; a new attempt needs a new Job",
    "DeadlineExceeded": "raise activeDeadlineSeconds, or see what kept it with `kubectl logs job/{name}`",
    "PodFailurePolicy": "its podFailurePolicy ended it: see why with `kubectl logs job/{name}`",
    "FailedIndexes": "see status.failedIndexes, and the logs of these pods",
    "MaxFailedIndexesExceeded": "see status.failedIndexes, and the logs of these pods",
}


def pod(obj: Observed, related: Related) -> Readiness:
    phase = text(obj, "status", "phase")
    match phase:
        case "":
            return pending("waiting for the cluster to take it up")
        case "Succeeded":
            return ready("completed", "completed")
        case "Failed":
            return _failed_pod(obj)
        case "Unknown":
            return Readiness(CardStatus.UNKNOWN, "NodeLost", "its node does not answer", "see the node it runs on")
        case _:
            return _living_pod(obj, related, phase)


def _living_pod(obj: Observed, related: Related, phase: str) -> Readiness:
    if is_true(condition(obj, "Ready")):
        return complete(obj, Related(pods=[obj]), "ready")
    halted = _halted(obj)
    if halted is not None:
        return troubled(halted)
    return on_the_way(obj, Related([obj], related.events), f"the pod is {phase.lower()} and not ready")


def job(obj: Observed, related: Related) -> Readiness:
    broken = condition(obj, "Failed")
    if is_true(broken):
        reason = text(broken, "reason") or "JobFailed"
        hint = _JOB_HINTS.get(reason, "see why with `kubectl logs job/{name}`").format(name=name_of(obj))
        ended = _attempt(related)
        said = text(broken, "message") or "the job failed"
        return failed(f"{said}; {ended}" if ended else said, reason, hint)
    if is_true(condition(obj, "Complete")):
        return ready("completed", "completed")
    if flag(obj, "spec", "suspend"):
        return ready("suspended; it starts when it is resumed", "suspended")
    if number(obj, "spec", "parallelism", default=1) == 0:
        return ready("its parallelism is 0, so it runs nothing until that is raised", "suspended")
    if "startTime" not in part(obj, "status"):
        return pending("waiting for the controller to start the job")
    verdict = on_the_way(obj, related, _progress(obj), short=number(obj, "status", "active") == 0)
    own = number(obj, "spec", "activeDeadlineSeconds") > 0
    if verdict.trouble is not None and verdict.trouble.grace is Grace.CRASH:
        # To try again is what a Job is for: its own backoffLimit says when it is enough.
        message = f"{_progress(obj)}; {verdict.trouble.message}"
        verdict, own = creating(message, hint=verdict.trouble.hint), True
    return replace(verdict, deadline=Deadline.CLUSTER) if own else verdict


def cron_job(obj: Observed, related: Related) -> Readiness:
    events = about(obj, related.events)
    wrong = latest(events, "UnparseableCronJobSchedule", "InvalidSchedule", "UnknownTimeZone")
    if wrong is not None:
        said = said_of(wrong) or "its schedule cannot be read"
        return troubled(Trouble(text(wrong, "reason"), said, "correct spec.schedule or spec.timeZone", Grace.REFUSED))
    if flag(obj, "spec", "suspend"):
        return ready("suspended; it runs nothing until it is resumed", "suspended")
    last = latest(events, "SawCompletedJob")
    if last is not None and "status: Failed" in said_of(last):
        # What it runs is not what was deployed just now, so this is told and fails nothing.
        return ready("scheduled; its last job failed", "scheduled", f"see `kubectl get jobs`: {said_of(last)}")
    return ready("scheduled", "scheduled")


def _progress(obj: Observed) -> str:
    done, lost = number(obj, "status", "succeeded"), number(obj, "status", "failed")
    wanted = part(obj, "spec").get("completions")
    said = f"{done} of {wanted} completions" if isinstance(wanted, int) else f"{done} completed"
    if text(obj, "spec", "completionMode") == "Indexed" and text(obj, "status", "completedIndexes"):
        said += f" (indexes {text(obj, 'status', 'completedIndexes')})"
    if is_true(condition(obj, "FailureTarget")):
        return f"{said}; it is failing: {text(condition(obj, 'FailureTarget'), 'message')}"
    if is_true(condition(obj, "SuccessCriteriaMet")):
        return f"{said}; its last pods are ending"
    limit = number(obj, "spec", "backoffLimit", default=6)
    return f"{said}; {lost} of {limit + 1} attempts failed" if lost else said


def _attempt(related: Related) -> str:
    """How the last failed pod of a Job ended."""
    for failure in reversed([one for one in related.pods if text(one, "status", "phase") == "Failed"]):
        for status in parts(failure, "status", "initContainerStatuses") + parts(failure, "status", "containerStatuses"):
            ended = part(status, "state", "terminated")
            if number(ended, "exitCode") != 0:
                return f"container {text(status, 'name')} of pod {name_of(failure)} ended with {last_words(ended)}"
    return ""


def _failed_pod(obj: Observed) -> Readiness:
    reason = text(obj, "status", "reason") or "PodFailed"
    said = text(obj, "status", "message") or _attempt(Related(pods=[obj])) or "a container ended with an error"
    hint = (
        "give it requests that it keeps to, or free the node"
        if reason == "Evicted"
        else f"see `kubectl logs {name_of(obj)}`; a new attempt needs a new pod"
    )
    return failed(f"the pod failed: {said}", reason, hint)


def _halted(obj: Observed) -> Trouble | None:
    """A container that has failed and is not started again, while others of its pod still run."""
    if text(obj, "spec", "restartPolicy") != "Never" or is_leaving(obj):
        return None
    for status in parts(obj, "status", "initContainerStatuses") + parts(obj, "status", "containerStatuses"):
        ended = part(status, "state", "terminated")
        if number(ended, "exitCode") != 0:
            container = text(status, "name")
            message = f"container {container} ended with {last_words(ended)} and is not started again"
            hint = f"see why with `kubectl logs {name_of(obj)} -c {container}`"
            return Trouble("ContainerFailed", message, hint, Grace.CRASH, name_of(obj), container)
    return None
