"""From what the cluster said about a document to its line in the plan. Pure."""

from collections.abc import Collection, Sequence

from locktender.contracts.deployments.plan import (
    FieldConflict,
    PlannedAction,
    PlannedDocument,
    PlanWarning,
    WarningCode,
)
from locktender.contracts.deployments.wire import ObjectRef
from locktender.integrations.kube.desired import Desired
from locktender.integrations.kube.diff import FieldDiff
from locktender.integrations.kube.errors import (
    ConflictCause,
    KubeConflict,
    KubeError,
    KubeImmutable,
    KubeInvalid,
    KubeNotFound,
    KubeUnavailable,
    KubeUnknownKind,
)
from locktender.integrations.kube.explain import explain

_NO_CHANGES = FieldDiff(())
_NO_DRY_RUN = "does not support dry run"


def no_namespace(index: int, ref: ObjectRef, warnings: Sequence[PlanWarning], *, brought: bool) -> PlannedDocument:
    """The namespace is not there, or will be another one by then. `brought`: the source creates it."""
    if brought:
        return later(index, ref, "known once its namespace is created", warnings)
    message = f"the namespace {ref.namespace} does not exist"
    error = KubeNotFound(message, hint="create it, or add it to the manifests")
    return refused(index, ref, error, warnings=warnings)


def later(index: int, ref: ObjectRef, message: str, warnings: Sequence[PlanWarning] = ()) -> PlannedDocument:
    """It cannot be told yet."""
    return PlannedDocument(
        index=index, ref=ref, action=PlannedAction.UNKNOWN, message=message, warnings=tuple(warnings)
    )


def settled(
    index: int, ref: ObjectRef, action: PlannedAction, changes: FieldDiff, warnings: Sequence[PlanWarning]
) -> PlannedDocument:
    """The dry run went well."""
    return PlannedDocument(
        index=index,
        ref=ref,
        action=action,
        changes=changes.changes,
        omitted=changes.omitted,
        warnings=tuple(warnings),
    )


def refused(
    index: int,
    ref: ObjectRef,
    error: KubeError,
    *,
    changes: FieldDiff = _NO_CHANGES,
    replace: Collection[str] = (),
    warnings: Sequence[PlanWarning] = (),
) -> PlannedDocument:
    """The dry run was refused.

    Args:
        index: of the document.
        ref: the object.
        error: what the cluster said.
        changes: what would have changed, as far as the manifest tells.
        replace: kinds whose objects may be deleted and created anew.
        warnings: what is to be said besides.
    """
    reason, message, *_ = explain(error)
    action, hint, told = PlannedAction.REFUSED, error.hint, list(warnings)
    conflicts: tuple[FieldConflict, ...] = ()
    match error:
        case KubeConflict() if error.causes:
            action, conflicts = PlannedAction.CONFLICT, conflicts_of(error.causes)
        case KubeConflict():
            return later(index, ref, "it changed while it was looked at; look again", told)
        case KubeImmutable() if ref.kind in replace:
            return settled(index, ref, PlannedAction.REPLACE, changes, [*told, _replaced(ref)])
        case KubeImmutable():
            hint = hint or f"keep the field as it is, or allow objects of the kind {ref.kind} to be replaced"
            told.append(_warning(WarningCode.IMMUTABLE_CHANGE, "a field would change that cannot change", hint))
        case KubeUnknownKind():
            told.append(_warning(WarningCode.UNKNOWN_KIND, message, hint))
        case KubeNotFound() if ref.namespace is not None:
            told.append(_warning(WarningCode.MISSING_NAMESPACE, message, hint))
        case KubeInvalid() if _NO_DRY_RUN in message:
            return _not_dry_run(index, ref, "an admission webhook does not take part in dry runs", told)
        case KubeUnavailable():
            return _not_dry_run(index, ref, message, told)
        case _:
            pass
    return PlannedDocument(
        index=index,
        ref=ref,
        action=action,
        changes=changes.changes,
        omitted=changes.omitted,
        conflicts=conflicts,
        reason=str(reason),
        message=message,
        hint=hint,
        warnings=tuple(told),
    )


def conflicts_of(causes: Sequence[ConflictCause]) -> tuple[FieldConflict, ...]:
    """Conflicts, as the plan says them."""
    return tuple(FieldConflict(manager=cause.manager, field=cause.field) for cause in causes)


def warnings_before(want: Desired, *, written: bool, exists: bool) -> list[PlanWarning]:
    """What is to be said of replicas that an autoscaler owns. `written`: the manifest names a number of them."""
    if want.autoscaler is None or not (written or want.left_alone):
        return []
    message = (
        f"the autoscaler {want.autoscaler} owns the replicas; they stay as they are"
        if exists
        else f"the autoscaler {want.autoscaler} will change the replicas"
    )
    return [_warning(WarningCode.AUTOSCALED_REPLICAS, message, "leave spec.replicas out of the manifest")]


def migrated(managers: Sequence[str]) -> PlanWarning:
    """Fields of other managers become ours."""
    message = f"fields of {', '.join(managers)} become Locktender's; those that the manifest leaves out go away"
    return _warning(WarningCode.MIGRATED_OWNERSHIP, message)


def terminating(namespace: str | None) -> PlanWarning:
    """The namespace is going away."""
    message = f"the namespace {namespace} is being deleted"
    return _warning(WarningCode.TERMINATING_NAMESPACE, message, "wait until it is gone, or use another")


def said(texts: Sequence[str]) -> list[PlanWarning]:
    """The API server's own warnings."""
    return [
        _warning(WarningCode.DEPRECATED_VERSION if " is deprecated" in text else WarningCode.CLUSTER, text)
        for text in texts
    ]


def _replaced(ref: ObjectRef) -> PlanWarning:
    message = f"a field would change that cannot change; the {ref.kind} is deleted and created anew"
    return _warning(WarningCode.IMMUTABLE_CHANGE, message)


def _not_dry_run(index: int, ref: ObjectRef, message: str, warnings: Sequence[PlanWarning]) -> PlannedDocument:
    return later(index, ref, message, [*warnings, _warning(WarningCode.NOT_DRY_RUN, message)])


def _warning(code: WarningCode, message: str, hint: str | None = None) -> PlanWarning:
    return PlanWarning(code=code, message=message, hint=hint)
