"""Container statuses and pod conditions, as the kubelet reports them. Pure."""

import hashlib

from locktender.embedded.cluster.shapes import Obj, text_at


def container_status(
    container: Obj, state: Obj, *, ready: bool = False, restarts: int = 0, last: Obj | None = None
) -> Obj:
    """The status of one container in `state` (one of `waiting`, `running`, `terminated`)."""
    image = text_at(container, "image")
    pulled = "running" in state or "terminated" in state or restarts > 0
    status: Obj = {
        "name": text_at(container, "name"),
        "image": image,
        "imageID": f"{image}@sha256:{hashlib.sha256(image.encode()).hexdigest()}" if pulled else "",
        "ready": ready,
        "started": "running" in state,
        "restartCount": restarts,
        "state": state,
        "lastState": {"terminated": last} if last else {},
    }
    if pulled:
        status["containerID"] = f"sandbox://{hashlib.sha256(f'{image}{restarts}'.encode()).hexdigest()}"
    return status


def waiting(reason: str, message: str = "") -> Obj:
    return {"waiting": {"reason": reason} | ({"message": message} if message else {})}


def running(since: str) -> Obj:
    return {"running": {"startedAt": since}}


def ended(since: str, until: str, *, code: int) -> Obj:
    """The content of a `terminated` state."""
    return {
        "exitCode": code,
        "reason": "Completed" if code == 0 else "Error",
        "startedAt": since,
        "finishedAt": until,
    }


def not_found_message(image: str) -> str:
    return (
        f'Failed to pull image "{image}": rpc error: code = NotFound desc = failed to pull and unpack image '
        f'"{image}": failed to resolve reference "{image}": {image}: not found'
    )


def back_off_pull_message(image: str) -> str:
    return f'Back-off pulling image "{image}": ErrImagePull: {not_found_message(image)}'


def back_off_restart_message(seconds: float, container: str, pod: Obj) -> str:
    metadata = pod["metadata"]
    who = f"{metadata['name']}_{metadata['namespace']}({metadata['uid']})"
    return f"back-off {max(1, round(seconds))}s restarting failed container={container} pod={who}"
