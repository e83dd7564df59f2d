"""What is declared about a kind: how it is judged, and the same in words."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias

from locktender.contracts.deployments.cards import Readiness
from locktender.contracts.deployments.observed import Observed, Related

Judge: TypeAlias = Callable[[Observed, Related], Readiness]


class Reads(StrEnum):
    """What besides the object itself makes its verdict more telling. Named as the fields of `Related`."""

    PODS = "pods"
    EVENTS = "events"
    STORAGE_CLASSES = "storage_classes"
    ENDPOINT_SLICES = "endpoint_slices"


@dataclass(frozen=True, slots=True)
class Rule:
    """The readiness of some kinds that are judged alike.

    Attributes:
        group: their API group; empty for the core group. Any version of it.
        kinds: their names.
        judge: the verdict on an object whose status is not of an earlier generation, and that is not being deleted.
        ready: when it is ready, in words.
        fails: what ends the wait at once or after its patience, in words.
        waits: what it waits for meanwhile, in words.
        optional: why a deployment does not wait for it; empty when it does.
        reads: what else is worth reading.
        observes: its controller always says which generation it has seen, so that silence is not consent.
    """

    group: str
    kinds: tuple[str, ...]
    judge: Judge
    ready: str
    fails: str = ""
    waits: str = ""
    optional: str = ""
    reads: frozenset[Reads] = frozenset()
    observes: bool = False
