"""HorizontalPodAutoscalers own the replicas of their targets."""

from collections.abc import Iterable

from locktender.embedded.cluster.controllers.plane import Plane, conditioned
from locktender.embedded.cluster.controllers.script import REPLICAS
from locktender.embedded.cluster.objects import Change, Key
from locktender.embedded.cluster.shapes import Obj, at, int_at, is_going, obj_at, objs_at, text_at

KIND = "horizontalpodautoscalers.autoscaling"
_SCALABLE = frozenset({"deployments.apps", "replicasets.apps", "statefulsets.apps"})


class AutoscalerController:
    """Metrics are what an annotation says (see `script`); without it, the present number, within the bounds."""

    def __init__(self, plane: Plane) -> None:
        self._plane = plane
        self._targets: dict[tuple[str, str, str], set[str]] = {}

    def keys(self, change: Change) -> Iterable[Key]:
        key = change.key
        if key.kind == KIND:
            self._index(change)
            return [] if change.type == "DELETED" else [key]
        if key.kind not in _SCALABLE:
            return []
        names = self._targets.get((key.kind, key.namespace, key.name), ())
        return [Key(KIND, key.namespace, name) for name in sorted(names)]

    def _index(self, change: Change) -> None:
        for obj, present in ((change.before, False), (change.after, change.type != "DELETED")):
            kind = self._kind_of(obj) if obj is not None else ""
            if kind:
                where = (kind, change.key.namespace, text_at(obj, "spec", "scaleTargetRef", "name"))
                names = self._targets.setdefault(where, set())
                (names.add if present else names.discard)(change.key.name)

    def _kind_of(self, scaler: Obj) -> str:
        """The stored kind of the target, "" when it is not served."""
        reference = obj_at(scaler, "spec", "scaleTargetRef")
        group = text_at(reference, "apiVersion").rpartition("/")[0]
        resource = self._plane.cluster.registry.of_kind(group, text_at(reference, "kind"))
        return resource.qualified if resource is not None and resource.scale else ""

    def reconcile(self, key: Key) -> float | None:
        scaler = self._plane.get(KIND, key.namespace, key.name)
        if scaler is None or is_going(scaler):
            return None
        kind = self._kind_of(scaler)
        target = self._plane.get(kind, key.namespace, text_at(scaler, "spec", "scaleTargetRef", "name"))
        if target is None or is_going(target):
            self._miss(scaler)
            return None
        current = int_at(target, "spec", "replicas", default=1)
        if current == 0:
            entry = (
                "ScalingActive",
                "False",
                "ScalingDisabled",
                "scaling is disabled since the replica count of the target is zero",
            )
            self._report(scaler, target, 0, [_ABLE, entry])
            return None
        wanted, limited = _wanted(scaler, current)
        self._report(scaler, target, wanted, [_ABLE, _ACTIVE, limited])
        if wanted != current:
            self._plane.autoscale(kind, target, wanted)
            why = (
                "reason: All metrics below target"
                if wanted < current
                else "reason: cpu resource utilization (percentage of request) above target"
            )
            self._plane.tell(KIND, scaler, "SuccessfulRescale", f"New size: {wanted}; {why}", normal=True)
        return None

    def _miss(self, scaler: Obj) -> None:
        reference = obj_at(scaler, "spec", "scaleTargetRef")
        plural = self._kind_of(scaler) or f"{text_at(reference, 'kind').lower()}s"
        why = f'{plural} "{text_at(reference, "name")}" not found'
        entry = (
            "AbleToScale",
            "False",
            "FailedGetScale",
            f"the HPA controller was unable to get the target's current scale: {why}",
        )
        self._plane.tell(KIND, scaler, "FailedGetScale", why)
        self._report(scaler, {}, 0, [entry])

    def _report(self, scaler: Obj, target: Obj, wanted: int, entries: list[tuple[str, str, str, str]]) -> None:
        conditions = objs_at(scaler, "status", "conditions")
        for kind, holds, reason, message in entries:
            entry: Obj = {"type": kind, "status": holds, "reason": reason, "message": message}
            conditions = conditioned(conditions, entry, self._plane.stamp)
        status: Obj = {
            "currentReplicas": int_at(target, "status", "replicas"),
            "desiredReplicas": wanted,
            "conditions": conditions,
        }
        metrics = at(scaler, "status", "currentMetrics")
        status |= {"currentMetrics": metrics} if metrics else {}
        scaled = at(scaler, "status", "lastScaleTime")
        if wanted and wanted != int_at(target, "spec", "replicas", default=1):
            scaled = self._plane.stamp
        status |= {"lastScaleTime": scaled} if scaled else {}
        self._plane.set_status(KIND, scaler, status)


_ABLE = ("AbleToScale", "True", "ReadyForNewScale", "recommended size matches current size")
_ACTIVE = (
    "ScalingActive",
    "True",
    "ValidMetricFound",
    "the HPA was able to successfully calculate a replica count from cpu resource utilization (percentage of request)",
)


def _wanted(scaler: Obj, current: int) -> tuple[int, tuple[str, str, str, str]]:
    """The number to have, and the condition that says whether a bound made it."""
    said = str(obj_at(scaler, "metadata", "annotations").get(REPLICAS) or "")
    asked = int(said) if said.isdigit() else current
    least = int_at(scaler, "spec", "minReplicas", default=1)
    most = max(least, int_at(scaler, "spec", "maxReplicas", default=1))
    if asked > most:
        return most, (
            "ScalingLimited",
            "True",
            "TooManyReplicas",
            "the desired replica count is more than the maximum replica count",
        )
    if asked < least:
        return least, (
            "ScalingLimited",
            "True",
            "TooFewReplicas",
            "the desired replica count is less than the minimum replica count",
        )
    return asked, ("ScalingLimited", "False", "DesiredWithinRange", "the desired count is within the acceptable range")
