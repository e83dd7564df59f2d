"""The status of a Deployment: counts, conditions, and the deadline of its progress."""

from dataclasses import dataclass

from locktender.embedded.cluster.controllers.plane import Plane, condition, conditioned
from locktender.embedded.cluster.controllers.rollout import room
from locktender.embedded.cluster.shapes import Obj, int_at, name_of, objs_at, text_at


@dataclass(slots=True)
class Progress:
    """What a rollout looked like when it last moved, and when that was (monotonic)."""

    seen: tuple[object, ...] = ()
    at: float = 0.0


def deployment_status(
    plane: Plane, deployment: Obj, new: Obj | None, sets: list[Obj], progress: Progress
) -> tuple[Obj, float | None]:
    """The status, and after how many seconds it may change without anything else changing (the deadline)."""
    replicas = sum(int_at(rs, "status", "replicas") for rs in sets)
    ready = sum(int_at(rs, "status", "readyReplicas") for rs in sets)
    available = sum(int_at(rs, "status", "availableReplicas") for rs in sets)
    updated = int_at(new, "status", "replicas")
    wanted = int_at(deployment, "spec", "replicas")
    counts = {
        "replicas": replicas,
        "updatedReplicas": updated,
        "readyReplicas": ready,
        "availableReplicas": available,
        "unavailableReplicas": max(0, max(wanted, replicas) - available),
    }
    status: Obj = {"observedGeneration": int_at(deployment, "metadata", "generation")}
    status |= {name: number for name, number in counts.items() if number}

    conditions = objs_at(deployment, "status", "conditions")
    conditions = conditioned(conditions, _available(deployment, available), plane.stamp, updated=True)
    complete = updated == wanted == available == replicas
    again = _follow(plane, deployment, progress, (name_of(new) if new else "", replicas, updated, ready, available))
    entry = _progressing(deployment, new, complete=complete, late=again is not None and again <= 0)
    if entry is not None:
        conditions = conditioned(conditions, entry, plane.stamp, updated=True)
    status["conditions"] = _with_failures(plane, conditions, sets)
    return status, None if complete or (again is not None and again <= 0) else again


def _follow(plane: Plane, deployment: Obj, progress: Progress, seen: tuple[object, ...]) -> float | None:
    """Seconds until the deadline of progress; zero or less when it has passed."""
    seen = (*seen, int_at(deployment, "metadata", "generation"))
    if progress.seen != seen:
        progress.seen, progress.at = seen, plane.now
    if deployment["spec"].get("paused") is True:
        return None
    return progress.at + int_at(deployment, "spec", "progressDeadlineSeconds", default=600) - plane.now


def _available(deployment: Obj, available: int) -> Obj:
    _, unavailable = room(deployment)
    if available >= int_at(deployment, "spec", "replicas") - unavailable:
        return {
            "type": "Available",
            "status": "True",
            "reason": "MinimumReplicasAvailable",
            "message": "Deployment has minimum availability.",
        }
    return {
        "type": "Available",
        "status": "False",
        "reason": "MinimumReplicasUnavailable",
        "message": "Deployment does not have minimum availability.",
    }


def _progressing(deployment: Obj, new: Obj | None, *, complete: bool, late: bool) -> Obj | None:
    if deployment["spec"].get("paused") is True:
        reason, message, status = "DeploymentPaused", "Deployment is paused", "Unknown"
    elif new is None:
        return None
    elif complete:
        reason, status = "NewReplicaSetAvailable", "True"
        message = f'ReplicaSet "{name_of(new)}" has successfully progressed.'
    elif late:
        reason, status = "ProgressDeadlineExceeded", "False"
        message = f'ReplicaSet "{name_of(new)}" has timed out progressing.'
    else:
        before = condition(objs_at(deployment, "status", "conditions"), "Progressing")
        fresh = before is None or (
            text_at(before, "reason") == "NewReplicaSetCreated" and not int_at(new, "status", "replicas")
        )
        reason, status = "NewReplicaSetCreated" if fresh else "ReplicaSetUpdated", "True"
        verb = "Created new replica set" if fresh else "ReplicaSet"
        message = f'{verb} "{name_of(new)}"' if fresh else f'ReplicaSet "{name_of(new)}" is progressing.'
    return {"type": "Progressing", "status": status, "reason": reason, "message": message}


def _with_failures(plane: Plane, conditions: list[Obj], sets: list[Obj]) -> list[Obj]:
    failures = [found for rs in sets if (found := condition(objs_at(rs, "status", "conditions"), "ReplicaFailure"))]
    if not failures:
        return [entry for entry in conditions if entry.get("type") != "ReplicaFailure"]
    entry = {name: failures[0].get(name) for name in ("type", "status", "reason", "message")}
    return conditioned(conditions, entry, plane.stamp, updated=True)
