"""What a deployment is going to do to the cluster, found out by dry runs, before anything is written."""

from enum import StrEnum

from pydantic import Field

from locktender.contracts.deployments.wire import ObjectRef, Wire


class PlannedAction(StrEnum):
    """What applying one document would do."""

    CREATE = "create"
    CHANGE = "change"
    UNCHANGED = "unchanged"
    REPLACE = "replace"
    """Delete and create anew, because a field that cannot change differs and the request allows it for this kind."""
    CONFLICT = "conflict"
    """Another field manager owns what the document sets."""
    REFUSED = "refused"
    """The cluster would not take it."""
    UNKNOWN = "unknown"
    """It cannot be told yet, such as an object whose kind or namespace the same deployment brings."""


class FieldChange(Wire):
    """One field that would change. Texts are compact JSON, shortened; None is an absent field."""

    path: str = Field(description="Such as `spec.template.spec.containers[name=web].image`.")
    before: str | None = None
    after: str | None = None
    masked: bool = Field(default=False, description="The values are withheld; that they differ is all that is said.")


class FieldConflict(Wire):
    """One field that somebody else owns."""

    manager: str
    field: str


class WarningCode(StrEnum):
    """What a person should look at before deploying. None of it stops a deployment by itself."""

    UNKNOWN_KIND = "unknown-kind"
    DEPRECATED_VERSION = "deprecated-version"
    AUTOSCALED_REPLICAS = "autoscaled-replicas"
    IMMUTABLE_CHANGE = "immutable-change"
    MISSING_NAMESPACE = "missing-namespace"
    TERMINATING_NAMESPACE = "terminating-namespace"
    NOT_DRY_RUN = "not-dry-run"
    MIGRATED_OWNERSHIP = "migrated-ownership"
    CLUSTER = "cluster"
    """The API server's own words."""


class PlanWarning(Wire):
    """One warning about one document."""

    code: WarningCode
    message: str
    hint: str | None = None


class PlannedDocument(Wire):
    """One document of a plan.

    `index` is its place in the source. `changes` is bounded; `omitted` counts the ones beyond the bound.
    """

    index: int
    ref: ObjectRef
    action: PlannedAction
    changes: tuple[FieldChange, ...] = ()
    omitted: int = 0
    conflicts: tuple[FieldConflict, ...] = ()
    reason: str | None = None
    message: str | None = None
    hint: str | None = None
    warnings: tuple[PlanWarning, ...] = ()


class PlanSummary(Wire):
    """A plan in numbers."""

    create: int = 0
    change: int = 0
    unchanged: int = 0
    replace: int = 0
    conflict: int = 0
    refused: int = 0
    unknown: int = 0
    warnings: int = 0


class Plan(Wire):
    """What a deployment would do, document by document, in the order of applying. No promise: clusters move."""

    documents: tuple[PlannedDocument, ...]
    summary: PlanSummary


class Preview(Plan):
    """The plan of a deployment that does not exist."""

    instance: str | None = Field(
        default=None,
        description="For a template: the name under which it was rendered. A provisional one, unlike the deployment's; "
        "so what an instance of it has in the cluster already shows as to be created.",
    )


def summary_of(documents: tuple[PlannedDocument, ...]) -> PlanSummary:
    """The numbers of a plan."""
    counts = dict.fromkeys(PlannedAction, 0)
    for document in documents:
        counts[document.action] += 1
    return PlanSummary(
        create=counts[PlannedAction.CREATE],
        change=counts[PlannedAction.CHANGE],
        unchanged=counts[PlannedAction.UNCHANGED],
        replace=counts[PlannedAction.REPLACE],
        conflict=counts[PlannedAction.CONFLICT],
        refused=counts[PlannedAction.REFUSED],
        unknown=counts[PlannedAction.UNKNOWN],
        warnings=sum(len(document.warnings) for document in documents),
    )
