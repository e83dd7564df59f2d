"""What all controllers that make pods share."""

from locktender.embedded.cluster.controllers.plane import PODS, Plane, is_ready
from locktender.embedded.cluster.shapes import Obj, clone, obj_at, own, text_at, uid_of

POD_LIMIT = 500


def from_template(template: Obj, name: str) -> Obj:
    """A pod body from a pod template."""
    metadata = clone(obj_at(template, "metadata"))
    kept = {key: value for key, value in metadata.items() if key in ("labels", "annotations", "finalizers")}
    return {"metadata": kept | {"name": name}, "spec": clone(obj_at(template, "spec"))}


def exceeded(plane: Plane, name: str) -> str:
    """The refusal of a pod that the cluster has no room for, "" when there is room.

    It keeps a slip in a number of replicas from filling the memory of the machine.
    """
    used = plane.cluster.store.count(PODS)
    if used < POD_LIMIT:
        return ""
    numbers = f"requested: pods=1, used: pods={used}, limited: pods={POD_LIMIT}"
    return f'pods "{name}" is forbidden: exceeded quota: sandbox, {numbers}'


def labelled(body: Obj, labels: dict[str, str]) -> Obj:
    """Add labels to a body, in place."""
    own(body, "metadata", "labels").update(labels)
    return body


def missing_account(plane: Plane, namespace: str, pod: Obj) -> str:
    """The name of the service account that a pod needs and that is not there, else "".

    `default` is on its way in every namespace, so it never counts as missing.
    """
    spec = obj_at(pod, "spec")
    account = text_at(spec, "serviceAccountName") or text_at(spec, "serviceAccount") or "default"
    spec["serviceAccountName"] = account
    if account == "default" or plane.get("serviceaccounts", namespace, account) is not None:
        return ""
    return account


class Availability:
    """Since when pods are ready, for `minReadySeconds`."""

    def __init__(self, plane: Plane) -> None:
        self._plane = plane
        self._since: dict[str, float] = {}

    def count(self, pods: list[Obj], seconds: int) -> tuple[int, float | None]:
        """How many pods were ready for that long, and after how many seconds that may change."""
        ready = [uid_of(pod) for pod in pods if is_ready(pod)]
        if not seconds:
            return len(ready), None
        now = self._plane.now
        # Forgets pods that are gone, and those that lost their readiness begin again.
        alive = {uid_of(pod) for pod in self._plane.cluster.store.select(PODS) if is_ready(pod)}
        self._since = {uid: since for uid, since in self._since.items() if uid in alive}
        left = [self._since.setdefault(uid, now) + seconds - now for uid in ready]
        waiting = [seconds for seconds in left if seconds > 0]
        return len(left) - len(waiting), min(waiting, default=None)
