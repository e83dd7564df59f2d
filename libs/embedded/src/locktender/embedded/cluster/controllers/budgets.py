"""PodDisruptionBudgets say how many of their pods may be evicted."""

import math
from collections.abc import Iterable

from locktender.embedded.cluster.controllers.plane import PODS, Plane, conditioned, controller_of, is_active, is_ready
from locktender.embedded.cluster.controllers.selectorindex import SelectorIndex
from locktender.embedded.cluster.objects import Change, Key
from locktender.embedded.cluster.selectors import selects
from locktender.embedded.cluster.shapes import (
    Obj,
    at,
    int_at,
    is_going,
    labels_of,
    namespace_of,
    obj_at,
    objs_at,
    text_at,
)

KIND = "poddisruptionbudgets.policy"


class BudgetController:
    def __init__(self, plane: Plane) -> None:
        self._plane = plane
        self._selecting = SelectorIndex(KIND, ("spec", "selector", "matchLabels"), open_=True)

    def keys(self, change: Change) -> Iterable[Key]:
        key = change.key
        if key.kind == KIND:
            self._selecting.follow(change)
            return [] if change.type == "DELETED" else [key]
        if key.kind != PODS:
            return []
        return self._selecting.candidates(key.namespace, labels_of(change.after), labels_of(change.before or {}))

    def reconcile(self, key: Key) -> float | None:
        budget = self._plane.get(KIND, key.namespace, key.name)
        if budget is None or is_going(budget):
            return None
        pods = [pod for pod in self._near(budget) if is_active(pod) and _selects(budget, pod)]
        expected, desired = self._numbers(budget, pods)
        healthy = sum(map(is_ready, pods))
        allowed = max(0, healthy - desired) if expected else 0
        entry: Obj = {
            "type": "DisruptionAllowed",
            "status": "True" if allowed else "False",
            "reason": "SufficientPods" if allowed else "InsufficientPods",
            "message": "",
            "observedGeneration": int_at(budget, "metadata", "generation"),
        }
        status: Obj = {
            "observedGeneration": int_at(budget, "metadata", "generation"),
            "currentHealthy": healthy,
            "desiredHealthy": desired,
            "expectedPods": expected,
            "disruptionsAllowed": allowed,
            "conditions": conditioned(objs_at(budget, "status", "conditions"), entry, self._plane.stamp),
        }
        self._plane.set_status(KIND, budget, status)
        return None

    def _near(self, budget: Obj) -> list[Obj]:
        labels = obj_at(budget, "spec", "selector", "matchLabels")
        if labels:
            return self._plane.pods.matching(namespace_of(budget), labels)
        return self._plane.cluster.store.select(PODS, namespace_of(budget))

    def _numbers(self, budget: Obj, pods: list[Obj]) -> tuple[int, int]:
        """How many pods there should be, and how many of them must stay healthy."""
        least, most = at(budget, "spec", "minAvailable"), at(budget, "spec", "maxUnavailable")
        if isinstance(least, int) and most is None:
            return len(pods), least
        expected = self._expected(pods)
        if most is not None:
            return expected, max(0, expected - _share(most, expected))
        return expected, _share(least, expected)

    def _expected(self, pods: list[Obj]) -> int:
        """The sum of the replicas that the controllers of the pods want."""
        wanted: dict[str, int] = {}
        loose = 0
        for pod in pods:
            reference = controller_of(pod)
            if reference is None:
                loose += 1
                continue
            group = text_at(reference, "apiVersion").rpartition("/")[0]
            resource = self._plane.cluster.registry.of_kind(group, text_at(reference, "kind"))
            kind = resource.qualified if resource is not None else ""
            owner = self._plane.get(kind, namespace_of(pod), text_at(reference, "name"))
            wanted[text_at(reference, "uid")] = int_at(owner, "spec", "replicas", default=1)
        return loose + sum(wanted.values())


def _share(value: object, of: int) -> int:
    if isinstance(value, str) and value.endswith("%") and value[:-1].isdigit():
        return math.ceil(of * int(value[:-1]) / 100)
    return value if isinstance(value, int) else 0


def _selects(budget: Obj, pod: Obj) -> bool:
    selector = at(budget, "spec", "selector")
    # An empty selector is about all pods, none at all about no pod.
    return selector == {} or selects(obj_at(budget, "spec", "selector"), labels_of(pod))
