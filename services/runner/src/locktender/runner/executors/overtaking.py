"""Whether somebody newer than this run has applied an object already. Pure."""

from locktender.contracts.deployments.models import FailureReason
from locktender.contracts.deployments.wire import ObjectRef
from locktender.integrations.kube.stamps import Stamp
from locktender.runner.executors.terms import ApplyStopped


def check_not_overtaken(ref: ObjectRef, found: Stamp | None, own: Stamp, *, force: bool) -> None:
    """Nothing, while the object was applied last by an older deployment, by this run, or by none of ours.

    `force` lets a deployment win over a later one, never a run over a newer run of the same deployment.

    Raises:
        ApplyStopped: a newer run of this deployment, or a later deployment, has applied it.
    """
    if found is None:
        return
    if found.task_id == own.task_id:
        if found.epoch > own.epoch:
            raise ApplyStopped(FailureReason.OVERTAKEN, f"a newer run of this deployment has applied {ref}")
    elif found.task_id > own.task_id and not force:
        raise ApplyStopped(
            FailureReason.OVERTAKEN,
            f"a newer deployment ({found.task_id}) has applied {ref}",
            "deploy again if this state is the one that is wanted",
        )
