"""Deleting an object and creating it anew, where the request says so for its kind and nothing else works."""

from collections.abc import Callable, Sequence

from locktender.contracts.deployments.models import ApplyOptions, FailureReason
from locktender.contracts.deployments.readiness import watches_pods
from locktender.contracts.deployments.wire import ObjectRef
from locktender.contracts.kernel.clock import Clock
from locktender.integrations.kube.client import KubeClient
from locktender.integrations.kube.errors import InvalidCause
from locktender.integrations.kube.json_value import JsonObject, as_array, as_object, as_text
from locktender.integrations.kube.retry import retrying
from locktender.runner.executors.terms import ApplyStopped, Bounds

NEVER = {
    ("v1", "Namespace"): "everything in it would go with it",
    ("v1", "PersistentVolume"): "its data could go with it",
    ("v1", "PersistentVolumeClaim"): "its data would go with it",
    ("apiextensions.k8s.io/v1", "CustomResourceDefinition"): "every object of its kind would go with it",
}
"""Kinds that are never replaced, whatever the request says, and why."""

_FIRST_PAUSE, _LONGEST_PAUSE = 0.2, 2.0
_FIELDS = 5
_LOOKS = 10_000


def check_replaceable(ref: ObjectRef, options: ApplyOptions, fields: Sequence[InvalidCause]) -> None:
    """Nothing, when the request allows objects of this kind to be replaced.

    Raises:
        ApplyStopped: it does not, or the kind is one that is never replaced. Names the fields that cannot change.
    """
    why = NEVER.get((ref.api_version, ref.kind))
    if ref.kind in options.replace and why is None:
        return
    names = list(dict.fromkeys(cause.field for cause in fields if cause.field))
    named = ", ".join(names[:_FIELDS]) + (f" and {len(names) - _FIELDS} more" if len(names) > _FIELDS else "")
    said = f"{named} of {ref} cannot change" if named else f"{ref} cannot be changed into what the manifest says"
    if why is not None:
        hint = f"a {ref.kind} is never replaced, because {why}; move to one of another name, or delete it yourself"
    else:
        hint = f"undo the change, or deploy with `replace: [{ref.kind}]`, which deletes the object and creates it anew"
    raise ApplyStopped(FailureReason.IMMUTABLE_FIELD, said, hint)


async def remove(
    client: KubeClient,
    ref: ObjectRef,
    live: JsonObject,
    *,
    namespace: str | None,
    bounds: Bounds,
    clock: Clock,
    checkpoint: Callable[[], None],
) -> None:
    """Delete exactly the object that was read, with what it owns, and wait until it is gone.

    Raises:
        ApplyStopped: it is still there after the time that a replacement may take.
        KubeConflict: it is no longer the object that was read.
        KubeError: the cluster refused.
    """
    metadata = as_object(live.get("metadata"))
    uid = as_text(metadata.get("uid"))
    checkpoint()
    await client.delete(
        ref,
        uid=uid,
        resource_version=as_text(metadata.get("resourceVersion")),
        # Pods of the old object must be gone before those of the new one come.
        propagation="Foreground" if watches_pods(ref.kind) else "Background",
        namespace=namespace,
        seconds=bounds.fenced_write,
    )
    end, pause = clock.monotonic() + bounds.replacement, _FIRST_PAUSE
    for _ in range(_LOOKS):
        found = await retrying(
            lambda: client.get(ref, namespace=namespace), clock=clock, deadline_seconds=bounds.document
        )
        if found is None or as_object(found.get("metadata")).get("uid") != uid:
            return
        if clock.monotonic() + pause > end:
            break
        await clock.sleep(pause)
        pause = min(pause * 1.5, _LONGEST_PAUSE)
    raise ApplyStopped(
        FailureReason.APPLY_FAILED,
        f"{ref} was to be replaced and is still being deleted after {bounds.replacement:g} s",
        f"see what holds it{_finalizers(live)}, then deploy again",
    )


def _finalizers(live: JsonObject) -> str:
    names = [as_text(name) for name in as_array(as_object(live.get("metadata")).get("finalizers"))]
    return f" (finalizers: {', '.join(names[:_FIELDS])})" if names else ""
