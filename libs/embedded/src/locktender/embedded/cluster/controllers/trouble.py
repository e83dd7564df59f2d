"""What keeps the containers of a pod from running, at a given try."""

from dataclasses import dataclass

from locktender.embedded.cluster.controllers.behaviour import behaviour_of
from locktender.embedded.cluster.controllers.containers import (
    back_off_pull_message,
    back_off_restart_message,
    not_found_message,
)
from locktender.embedded.cluster.controllers.plane import Plane
from locktender.embedded.cluster.controllers.references import missing_for_container
from locktender.embedded.cluster.shapes import Obj, objs_at, text_at


@dataclass(frozen=True, slots=True)
class Trouble:
    """The first container in trouble.

    Attributes:
        reason: of the waiting state; "" while the container runs before its next crash.
        restarts: restart count to report.
        crashed: whether its last run ended with an error.
        fatal: whether the pod fails for good, because it is not restarted.
    """

    container: str
    init: bool
    event: str
    reason: str
    message: str
    restarts: int = 0
    crashed: bool = False
    fatal: bool = False


def trouble_of(plane: Plane, pod: Obj, attempt: int) -> Trouble | None:
    """The trouble of the first container that has any, None when all can run."""
    images = plane.cluster.faults.images
    for part in ("initContainers", "containers"):
        for container in objs_at(pod, "spec", part):
            name, image = text_at(container, "name"), text_at(container, "image")
            init = part == "initContainers"
            missing = missing_for_container(plane, pod, container)
            if missing:
                return Trouble(name, init, "Failed", "CreateContainerConfigError", missing)
            match behaviour_of(pod, container, images).manner:
                case "image-pull" if attempt % 2:
                    return Trouble(name, init, "BackOff", "ImagePullBackOff", back_off_pull_message(image))
                case "image-pull":
                    return Trouble(name, init, "Failed", "ErrImagePull", not_found_message(image))
                case "crash-loop":
                    return _crash(plane, pod, name, init=init, attempt=attempt)
                case _:
                    continue
    return None


def _crash(plane: Plane, pod: Obj, name: str, *, init: bool, attempt: int) -> Trouble:
    """Even tries are the short runs before a crash, odd ones the pauses after it."""
    if text_at(pod, "spec", "restartPolicy") == "Never":
        return Trouble(name, init, "Failed", "", "", fatal=True, crashed=True)
    restarts = (attempt + 1) // 2
    if attempt % 2 == 0:
        return Trouble(name, init, "", "", "", restarts=restarts, crashed=attempt > 0)
    message = back_off_restart_message(plane.pace.backoff(attempt), name, pod)
    return Trouble(name, init, "BackOff", "CrashLoopBackOff", message, restarts=restarts, crashed=True)
