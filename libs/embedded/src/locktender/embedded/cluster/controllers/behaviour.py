"""How a container of a pod behaves, decided by convention, so that trouble can be had without a real one.

The annotation `sandbox.locktender.dev/behaviour` on a pod (usually through its template) decides for all its
containers: `crash-loop`, `image-pull`, `slow:SECONDS`, `never-ready`, `job-fail`. Else the image decides: one that
contains `does-not-exist` cannot be pulled, one that contains `crash-loop` crashes; the image table of the faults
names more. Anything else works.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

from locktender.embedded.cluster.shapes import Obj, obj_at, text_at

ANNOTATION = "sandbox.locktender.dev/behaviour"

Manner: TypeAlias = Literal["works", "crash-loop", "image-pull", "slow", "never-ready", "job-fail"]


@dataclass(frozen=True, slots=True)
class Behaviour:
    """`seconds` is the extra time that a slow start takes."""

    manner: Manner
    seconds: float = 0.0


WORKS = Behaviour("works")


def behaviour_of(pod: Obj, container: Obj, images: Mapping[str, str]) -> Behaviour:
    """The behaviour of one container; words that are not known mean that it works."""
    said = obj_at(pod, "metadata", "annotations").get(ANNOTATION)
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


def _read(said: str) -> Behaviour:
    word, _, rest = said.partition(":")
    for manner in get_args(Manner):
        if word == manner:
            return Behaviour(manner, _seconds(rest))
    return WORKS


def _seconds(text: str) -> float:
    try:
        return min(max(0.0, float(text)), 86_400.0)
    except ValueError:
        return 0.0
