"""How far a pod has come on its way from its creation to its end."""

from dataclasses import dataclass
from typing import Literal, TypeAlias

from locktender.embedded.cluster.controllers.plane import condition
from locktender.embedded.cluster.shapes import Obj, int_at, objs_at, text_at

Stage: TypeAlias = Literal["scheduling", "starting", "readying", "serving", "working", "leaving", "done"]


@dataclass(slots=True)
class Course:
    """The present stage and when it is over.

    Attributes:
        due: on the monotonic clock of the cluster.
        attempt: counts the tries of the present stage.
        broken: whether it was ready once and broke, as its behaviour says.
    """

    stage: Stage
    due: float
    attempt: int = 0
    broken: bool = False


def begun(pod: Obj) -> tuple[Stage, int]:
    """Stage and try of a pod that was on its way before this process began; a new pod is at its beginning."""
    ready = condition(objs_at(pod, "status", "conditions"), "Ready")
    if text_at(pod, "status", "phase") in ("Succeeded", "Failed") or (ready and ready.get("status") == "True"):
        return "done", 0
    if not text_at(pod, "spec", "nodeName") or not text_at(pod, "status", "phase"):
        return "scheduling", 0
    restarts = max((int_at(s, "restartCount") for s in objs_at(pod, "status", "containerStatuses")), default=0)
    return "starting", max(0, 2 * restarts - 1)
