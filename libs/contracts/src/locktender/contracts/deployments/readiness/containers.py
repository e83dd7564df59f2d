"""What the status of a container says about why it does not run."""

import re
from collections.abc import Iterator
from datetime import datetime

from locktender.contracts.deployments.cards import Grace, Trouble
from locktender.contracts.deployments.observed import Observed, flag, name_of, number, part, parts, text

_WAITING = {
    "InvalidImageName": Grace.IMAGE_NAME,
    "ImagePullBackOff": Grace.IMAGE,
    "ErrImagePull": Grace.IMAGE,
    "ErrImageNeverPull": Grace.IMAGE,
    "RegistryUnavailable": Grace.IMAGE,
    "ImageInspectError": Grace.IMAGE,
    "SignatureValidationFailed": Grace.IMAGE,
    "CreateContainerConfigError": Grace.CONFIG,
    "CreateContainerError": Grace.START,
    "RunContainerError": Grace.START,
    "PreCreateHookError": Grace.START,
    "PreStartHookError": Grace.START,
    "PostStartHookError": Grace.START,
}
_IMAGE_HINTS = (
    ("toomanyrequests|too many requests|rate limit", "the registry limits pulls: log in with a pull secret, or wait"),
    ("unauthorized|denied|authentication|forbidden|403",
     "check the image name, and give the namespace a pull secret for the registry"),
    ("no match for platform|no matching manifest|exec format", "build the image for the architecture of the nodes"),
    ("x509|certificate|http response to https|tls", "the nodes do not trust the registry: check its certificate"),
    ("no such host|timeout|deadline exceeded|connection refused|unreachable|no route|dial tcp",
     "check the registry in the image name, and that the nodes can reach it"),
)  # fmt: skip
_EXITS = {
    0: "it ended by itself: keep its process in the foreground, or run it as a Job",
    126: "its command cannot be executed: check its file mode",
    127: "its command does not exist in the image: check command and args",
    139: "it crashed with a segmentation fault: check the image and its architecture",
}
_SIGNALS = {134: "SIGABRT", 137: "SIGKILL", 139: "SIGSEGV", 143: "SIGTERM"}
# Written by the container runtime and not by the program, whose own last words may hold anything.
_RUNTIME_WORDS = {"StartError", "ContainerCannotRun"}
_LONG_RUN_SECONDS = 600.0
"""A container that ran for this long was no crash loop; the kubelet forgets its back-off then, too."""


def container_troubles(pod: Observed) -> Iterator[Trouble]:
    """What is wrong with each container of a pod, init containers and sidecars included."""
    sidecars = {
        text(container, "name")
        for container in parts(pod, "spec", "initContainers")
        if container.get("restartPolicy") == "Always"
    }
    for field, role in (("initContainerStatuses", "init container"), ("containerStatuses", "container")):
        for status in parts(pod, "status", field):
            called = "sidecar" if text(status, "name") in sidecars else role
            trouble = _of_container(pod, status, called)
            if trouble is not None:
                yield trouble


def last_words(terminated: Observed) -> str:
    """How a container ended: exit code, signal and reason."""
    code = number(terminated, "exitCode")
    reason = text(terminated, "reason")
    notes = [note for note in (reason if reason != "Error" else "", _SIGNALS.get(code, "")) if note]
    said = f"exit code {code}" + (f" ({', '.join(notes)})" if notes else "")
    words = text(terminated, "message") if reason in _RUNTIME_WORDS else ""
    return f"{said}: {words}" if words else said


def _of_container(pod: Observed, status: Observed, role: str) -> Trouble | None:
    waiting = part(status, "state", "waiting")
    reason, said, container = text(waiting, "reason"), text(waiting, "message"), text(status, "name")
    grace = _WAITING.get(reason)
    if grace is None:
        return _crash(pod, status, role)
    whose = f"pod {name_of(pod)}: "
    if grace in {Grace.IMAGE, Grace.IMAGE_NAME}:
        message = f"{whose}the image {text(status, 'image')} of {role} {container} cannot be pulled"
    else:
        message = f"{whose}{role} {container} cannot be created"
    message += f": {said}" if said else f" ({reason})"
    return Trouble(reason, message, _hint(grace, said.lower()), grace, name_of(pod), container)


def _hint(grace: Grace, words: str) -> str:
    if grace is Grace.IMAGE_NAME:
        return "write the image as registry/repository:tag"
    if grace is Grace.IMAGE:
        fitting = (hint for pattern, hint in _IMAGE_HINTS if re.search(pattern, words))
        return next(fitting, "check the image name and tag, and that the cluster can reach the registry")
    if grace is Grace.START and ("executable file" in words or "no such file" in words):
        return "check command and args of the container, and that the image holds them"
    if "not found" in words or "couldn't find key" in words or "non-existent" in words:
        return "create the Secret or ConfigMap it refers to, or correct the name or key"
    if "runasnonroot" in words or "run as root" in words:
        return "the image runs as root and may not: set securityContext.runAsUser, or use an image that does not"
    return "check command, mounts and references of the container"


def _crash(pod: Observed, status: Observed, role: str) -> Trouble | None:
    """A crash loop, whichever moment of it is seen. Between two crashes it is latent: it may be over."""
    restarts, last = number(status, "restartCount"), part(status, "lastState", "terminated")
    ended = part(status, "state", "terminated")
    looping = text(status, "state", "waiting", "reason") == "CrashLoopBackOff"
    down = looping or (number(ended, "exitCode") != 0 and restarts > 0)
    if not looping:
        if ended:
            last = ended
            if number(ended, "exitCode") == 0 or text(pod, "spec", "restartPolicy") == "Never":
                return None
        elif not restarts or not last or _ran_long(last) or (flag(status, "ready") and role == "init container"):
            return None
    pod_name, container = name_of(pod), text(status, "name")
    times = f"{restarts} restart{'' if restarts == 1 else 's'}"
    verb = "keeps ending" if down else "ended"
    message = f"pod {pod_name}: {role} {container} {verb} with {last_words(last)}, {times}"
    hint = _crash_hint(last, pod_name, container)
    return Trouble("CrashLoopBackOff", message, hint, Grace.CRASH, pod_name, container, restarts, latent=not down)


def _crash_hint(last: Observed, pod: str, container: str) -> str:
    if text(last, "reason") == "OOMKilled":
        return "raise its memory limit, or let it use less"
    if text(last, "reason") in _RUNTIME_WORDS:
        return "check command and args of the container, and that the image holds them"
    logs = f"`kubectl logs {pod} -c {container} --previous`"
    known = _EXITS.get(number(last, "exitCode"), "") if last else ""
    return f"{known}; see {logs}" if known else f"see why with {logs}"


def _ran_long(terminated: Observed) -> bool:
    """Whether it ran for long before it ended, by the cluster's own stamps."""
    try:
        started = datetime.fromisoformat(text(terminated, "startedAt"))
        return (datetime.fromisoformat(text(terminated, "finishedAt")) - started).total_seconds() >= _LONG_RUN_SECONDS
    except (ValueError, TypeError, OverflowError):
        return False
