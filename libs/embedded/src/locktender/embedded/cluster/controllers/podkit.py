"""What all controllers that make pods share."""

from locktender.embedded.cluster.admission import suffix
from locktender.embedded.cluster.controllers.plane import Plane, is_ready
from locktender.embedded.cluster.refusal import Refusal
from locktender.embedded.cluster.shapes import Obj, clone, name_of, obj_at, own, text_at, uid_of


def from_template(template: Obj, name: str) -> Obj:
    """A pod body from a pod template."""
    metadata = clone(obj_at(template, "metadata"))
    kept = {key: value for key, value in metadata.items() if key in ("labels", "annotations", "finalizers")}
    return {"metadata": kept | {"name": name}, "spec": clone(obj_at(template, "spec"))}


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
        # Those that lost their readiness begin again; those that are gone are forgotten as they leave.
        for uid in {uid_of(pod) for pod in pods}.difference(ready):
            self._since.pop(uid, None)
        left = [self._since.setdefault(uid, now) + seconds - now for uid in ready]
        waiting = [seconds for seconds in left if seconds > 0]
        return len(left) - len(waiting), min(waiting, default=None)

    def forget(self, uid: str) -> None:
        """A pod is gone."""
        self._since.pop(uid, None)


class Names:
    """Names for pods that have none of their own.

    A pod that was refused is tried again under its name, so that the refusal stays the same and is told once.
    """

    def __init__(self) -> None:
        self._refused: dict[str, str] = {}

    def take(self, owner: Obj) -> str:
        """A name for the next pod of an owner."""
        return self._refused.pop(uid_of(owner), "") or f"{name_of(owner)}-{suffix()}"

    def refused(self, owner: Obj, name: str, refusal: Refusal) -> None:
        """The pod was not taken."""
        if refusal.code != 409:  # noqa: PLR2004 - the name itself was no good
            self._refused[uid_of(owner)] = name

    def forget(self, owner: Obj) -> None:
        """The owner is gone."""
        self._refused.pop(uid_of(owner), None)
