"""How a container of a pod behaves, decided by convention, so that trouble can be had without a real one.

The annotation `sandbox.locktender.dev/behaviour` on a pod (usually through its template) decides for all its
containers, `sandbox.locktender.dev/behaviour.NAME` for the one of that name:

- `crash-loop[:CODE]`, `oom`, `start-error`: crashes again and again, init containers too
- `flaky:TIMES`: crashes so often, then works
- `crash-after:SECONDS`: gets ready, and after that time begins to crash
- `unready-after:SECONDS`: gets ready, and after that time fails its probe for ever
- `image-pull`: its image cannot be pulled
- `slow:SECONDS`: takes so much longer to start
- `slow-stop:SECONDS`: takes so long to stop, at most its grace period
- `never-ready`: runs, and never passes its probe
- `job-fail[:CODE]`: ends with an error, where it is to end

Seconds are multiplied by the pace. Else the image decides: one that contains `does-not-exist` cannot be pulled, one
that contains `crash-loop` crashes; the image table of the faults names more. Anything else works.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

from locktender.embedded.cluster.shapes import Obj, obj_at, objs_at, text_at

ANNOTATION = "sandbox.locktender.dev/behaviour"

Manner: TypeAlias = Literal[
    "works",
    "crash-loop",
    "oom",
    "start-error",
    "flaky",
    "crash-after",
    "unready-after",
    "image-pull",
    "slow",
    "slow-stop",
    "never-ready",
    "job-fail",
]
_LONGEST = 86_400.0


@dataclass(frozen=True, slots=True)
class Behaviour:
    """`number` is what stands behind the colon: seconds, times or an exit code; 0 when nothing does."""

    manner: Manner
    number: float = 0.0

    @property
    def code(self) -> int:
        """Exit code of a failing run."""
        said = {"oom": 137, "start-error": 128}.get(self.manner, 1)
        return int(self.number) if self.manner in ("crash-loop", "job-fail") and self.number >= 1 else said

    @property
    def reason(self) -> str:
        """Reason of a failing run."""
        return {"oom": "OOMKilled", "start-error": "StartError"}.get(self.manner, "Error")


WORKS = Behaviour("works")


def behaviour_of(pod: Obj, container: Obj, images: Mapping[str, str]) -> Behaviour:
    """The behaviour of one container; words that are not known mean that it works."""
    annotations = obj_at(pod, "metadata", "annotations")
    said = annotations.get(f"{ANNOTATION}.{text_at(container, 'name')}") or annotations.get(ANNOTATION)
    if isinstance(said, str) and said:
        return _read(said)
    image = text_at(container, "image")
    for part, manner in images.items():
        if part and part in image:
            return _read(manner)
    if "does-not-exist" in image:
        return Behaviour("image-pull")
    if "crash-loop" in image:
        return Behaviour("crash-loop")
    return WORKS


def longest(pod: Obj, images: Mapping[str, str], manner: Manner) -> float | None:
    """The largest number of the containers that behave in a manner; None when none does."""
    found = (behaviour_of(pod, c, images) for part in PARTS for c in objs_at(pod, "spec", part))
    return max((one.number for one in found if one.manner == manner), default=None)


PARTS = ("initContainers", "containers")


def _read(said: str) -> Behaviour:
    word, _, rest = said.partition(":")
    for manner in get_args(Manner):
        if word == manner:
            return Behaviour(manner, _number(rest))
    return WORKS


def _number(text: str) -> float:
    try:
        return min(max(0.0, float(text)), _LONGEST)
    except ValueError:
        return 0.0
