"""The arithmetic of a rolling update. Pure."""

import math
from collections.abc import Iterator

from locktender.embedded.cluster.shapes import Obj, at, int_at


def room(deployment: Obj) -> tuple[int, int]:
    """How many pods may be above, and how many below, the wanted number. Never both zero."""
    replicas = int_at(deployment, "spec", "replicas")
    rolling = at(deployment, "spec", "strategy", "rollingUpdate")
    surge = _share(at(rolling, "maxSurge"), replicas, up=True)
    unavailable = _share(at(rolling, "maxUnavailable"), replicas, up=False)
    return (surge, unavailable) if surge or unavailable else (0, 1)


def _share(value: object, of: int, *, up: bool) -> int:
    if isinstance(value, int):
        return value
    if isinstance(value, str) and value.endswith("%") and value[:-1].isdigit():
        exact = of * int(value[:-1]) / 100
        return math.ceil(exact) if up else math.floor(exact)
    return int(value) if isinstance(value, str) and value.isdigit() else 0


def shrink(new: Obj, old: list[Obj], least: int) -> Iterator[tuple[Obj, int]]:
    """The old sets that may shrink now, with their new sizes: broken pods first, then as many as are spare.

    Args:
        new: the set that is wanted.
        old: all others, the first ones shrink first.
        least: pods that must stay available.
    """
    total = sum(int_at(rs, "spec", "replicas") for rs in [new, *old])
    pending = int_at(new, "spec", "replicas") - int_at(new, "status", "availableReplicas")
    budget = max(0, total - least - pending)
    sizes = [int_at(rs, "spec", "replicas") for rs in old]
    for index, rs in enumerate(old):
        broken = min(budget, max(0, sizes[index] - int_at(rs, "status", "availableReplicas")))
        sizes[index] -= broken
        budget -= broken
    available = sum(int_at(rs, "status", "availableReplicas") for rs in [new, *old])
    spare = max(0, available - least)
    for index, rs in enumerate(old):
        healthy = min(spare, sizes[index])
        sizes[index] -= healthy
        spare -= healthy
        if sizes[index] != int_at(rs, "spec", "replicas"):
            yield rs, sizes[index]
