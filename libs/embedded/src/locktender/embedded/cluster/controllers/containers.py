"""Container statuses, and the words of the kubelet for what goes wrong with containers. Pure."""

import hashlib
import re
from functools import lru_cache

from locktender.embedded.cluster.shapes import Obj, obj_at, objs_at, text_at

_REPOSITORY = r"[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*"
_HOST = r"(?:[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?|\[[0-9a-fA-F:]+\])(?::\d+)?"
_IMAGE = re.compile(
    rf"^(?:{_HOST}/)?{_REPOSITORY}(?:/{_REPOSITORY})*(?::[A-Za-z0-9_][\w.-]{{0,127}})?"
    r"(?:@[A-Za-z][A-Za-z0-9]*:[0-9a-fA-F]{32,})?$"
)


@lru_cache(maxsize=4096)
def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def container_status(
    container: Obj, state: Obj, *, ready: bool = False, restarts: int = 0, last: Obj | None = None
) -> Obj:
    """The status of one container in `state` (one of `waiting`, `running`, `terminated`)."""
    image = text_at(container, "image")
    pulled = "running" in state or "terminated" in state or restarts > 0
    status: Obj = {
        "name": text_at(container, "name"),
        "image": image,
        "imageID": f"{image}@sha256:{_digest(image)}" if pulled else "",
        "ready": ready,
        "started": "running" in state,
        "restartCount": restarts,
        "state": state,
        "lastState": {"terminated": last} if last else {},
    }
    if pulled:
        status["containerID"] = f"sandbox://{_digest(f'{image}{restarts}')}"
    return status


def waiting(reason: str, message: str = "") -> Obj:
    return {"waiting": {"reason": reason} | ({"message": message} if message else {})}


def running(since: str) -> Obj:
    return {"running": {"startedAt": since}}


def ended(since: str, until: str, *, code: int, reason: str = "") -> Obj:
    """The content of a `terminated` state."""
    return {
        "exitCode": code,
        "reason": reason or ("Completed" if code == 0 else "Error"),
        "startedAt": since,
        "finishedAt": until,
    }


def invalid_image(image: str) -> str:
    """What is wrong with the name of an image, as the kubelet words it; "" when nothing is."""
    if _IMAGE.match(image):
        return ""
    why = f'couldn\'t parse image name "{image}": invalid reference format'
    if _IMAGE.match(image.lower()):
        why += f": repository name ({image.partition('@')[0].rpartition(':')[0] or image}) must be lowercase"
    return f'Failed to apply default image tag "{image}": {why}'


def not_found_message(image: str) -> str:
    return (
        f'rpc error: code = NotFound desc = failed to pull and unpack image "{image}": '
        f'failed to resolve reference "{image}": {image}: not found'
    )


def back_off_pull_message(image: str) -> str:
    return f'Back-off pulling image "{image}": ErrImagePull: {not_found_message(image)}'


def back_off_restart_message(seconds: float, container: str, pod: Obj) -> str:
    return f"back-off {max(1, round(seconds))}s restarting failed container={container} pod={_who(pod)}"


def restart_event_message(container: str, pod: Obj) -> str:
    return f"Back-off restarting failed container {container} in pod {_who(pod)}"


def start_error_message(container: Obj) -> str:
    command = next((str(word) for word in container.get("command") or ["/start"]), "/start")
    return (
        "failed to create containerd task: failed to create shim task: OCI runtime create failed: runc create failed: "
        f'unable to start container process: error during container init: exec: "{command}": '
        f"stat {command}: no such file or directory: unknown"
    )


def _who(pod: Obj) -> str:
    metadata = pod["metadata"]
    return f"{metadata['name']}_{metadata['namespace']}({metadata['uid']})"


def is_sidecar(container: Obj) -> bool:
    """Whether an init container keeps running beside the others."""
    return text_at(container, "restartPolicy") == "Always"


def quality(pod: Obj) -> str:
    """The quality of service class that the resources of a pod make."""
    resources = [
        obj_at(c, "resources") for part in ("initContainers", "containers") for c in objs_at(pod, "spec", part)
    ]
    if not any(obj_at(r, "requests") or obj_at(r, "limits") for r in resources):
        return "BestEffort"
    for table in resources:
        limits = obj_at(table, "limits")
        if not {"cpu", "memory"} <= limits.keys() or (obj_at(table, "requests") or limits) != limits:
            return "Burstable"
    return "Guaranteed"
