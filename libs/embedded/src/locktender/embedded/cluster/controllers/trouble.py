"""What keeps the containers of a pod from running, at a given try."""

from dataclasses import dataclass

from locktender.embedded.cluster.controllers.behaviour import PARTS, Behaviour, behaviour_of
from locktender.embedded.cluster.controllers.containers import (
    back_off_pull_message,
    back_off_restart_message,
    invalid_image,
    is_sidecar,
    not_found_message,
    restart_event_message,
    start_error_message,
)
from locktender.embedded.cluster.controllers.plane import Plane
from locktender.embedded.cluster.controllers.references import missing_for_container
from locktender.embedded.cluster.shapes import Obj, objs_at, text_at

_LASTING = ("crash-loop", "oom", "start-error")


@dataclass(frozen=True, slots=True)
class Trouble:
    """The first container in trouble.

    Attributes:
        events: reason and message of the events to record.
        reason: of the waiting state; "" while the container runs before its next crash.
        restarts: restart count to report.
        code: exit code of its last run; 0 while there was none that ended.
        ending: reason of the end of its last run.
        fatal: whether the pod fails for good, because it is not restarted.
        missing: whether it waits for something that somebody may create.
    """

    container: str
    init: bool
    events: tuple[tuple[str, str], ...] = ()
    reason: str = ""
    message: str = ""
    restarts: int = 0
    code: int = 0
    ending: str = ""
    fatal: bool = False
    missing: bool = False


def trouble_of(plane: Plane, pod: Obj, attempt: int, *, broken: bool = False) -> Trouble | None:
    """The trouble of the first container that has any, None when all can run.

    `broken` says whether a container that crashes after a while has come to that point.
    """
    images = plane.cluster.faults.images
    for part in PARTS:
        for container in objs_at(pod, "spec", part):
            init = part == "initContainers"
            found = _image(container, behaviour_of(pod, container, images), attempt, init=init)
            if found is None:
                found = _missing(plane, pod, container, init=init)
            if found is None:
                behaviour = behaviour_of(pod, container, images)
                ends = init and not is_sidecar(container)
                crashes = (
                    behaviour.manner in _LASTING
                    or (behaviour.manner == "flaky" and attempt < 2 * behaviour.number)
                    or (behaviour.manner == "crash-after" and broken and not ends)
                )
                found = _crash(plane, pod, container, behaviour, attempt, init=init) if crashes else None
            if found is not None:
                return found
    return None


def _image(container: Obj, behaviour: Behaviour, attempt: int, *, init: bool) -> Trouble | None:
    name, image = text_at(container, "name"), text_at(container, "image")
    wrong = invalid_image(image)
    if wrong:
        events = (("InspectFailed", wrong), ("Failed", "Error: InvalidImageName"))
        return Trouble(name, init, events, "InvalidImageName", wrong)
    if behaviour.manner != "image-pull":
        return None
    if text_at(container, "imagePullPolicy") == "Never":
        message = f'Container image "{image}" is not present with pull policy of Never'
        events = (("ErrImageNeverPull", message), ("Failed", "Error: ErrImageNeverPull"))
        return Trouble(name, init, events, "ErrImageNeverPull", message)
    if attempt % 2:
        events = (("BackOff", f'Back-off pulling image "{image}"'), ("Failed", "Error: ImagePullBackOff"))
        return Trouble(name, init, events, "ImagePullBackOff", back_off_pull_message(image))
    why = not_found_message(image)
    events = (("Failed", f'Failed to pull image "{image}": {why}'), ("Failed", "Error: ErrImagePull"))
    return Trouble(name, init, events, "ErrImagePull", why)


def _missing(plane: Plane, pod: Obj, container: Obj, *, init: bool) -> Trouble | None:
    missing = missing_for_container(plane, pod, container)
    if not missing:
        return None
    name, reason = text_at(container, "name"), "CreateContainerConfigError"
    return Trouble(name, init, (("Failed", f"Error: {missing}"),), reason, missing, missing=True)


def _crash(plane: Plane, pod: Obj, container: Obj, behaviour: Behaviour, attempt: int, *, init: bool) -> Trouble:
    """Even tries are the short runs before a crash, odd ones the pauses after it."""
    name, code, ending = text_at(container, "name"), behaviour.code, behaviour.reason
    if text_at(pod, "spec", "restartPolicy") == "Never":
        return Trouble(name, init, code=code, ending=ending, fatal=True)
    if attempt % 2 == 0:
        restarts = attempt // 2 + 1 if attempt else 0
        return Trouble(name, init, restarts=restarts, code=code if attempt else 0, ending=ending)
    message = back_off_restart_message(plane.pace.backoff(attempt), name, pod)
    events: tuple[tuple[str, str], ...] = (("BackOff", restart_event_message(name, pod)),)
    if behaviour.manner == "start-error":
        events = (("Failed", f"Error: {start_error_message(container)}"), *events)
    return Trouble(
        name, init, events, "CrashLoopBackOff", message, restarts=(attempt + 1) // 2, code=code, ending=ending
    )
