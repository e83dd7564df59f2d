"""A plan in numbers, and every reason for which they do not describe all of it."""

from collections import Counter

from locktender.contracts.stacks.analysis import (
    ChangeAction,
    GapReason,
    PlanChanges,
    PlanCounts,
    PlanGap,
    PlanSummary,
    StateOpKind,
)
from locktender.integrations.tofu.analysis.reading import Json, an_object, objects


def summarised(document: Json, changes: PlanChanges, *, has_changes: bool, narrowed: bool) -> PlanSummary:
    """The numbers of the changes, and their gaps."""
    counts = _counts(changes)
    gaps = tuple(_gaps(document, changes, has_changes=has_changes, narrowed=narrowed))
    return PlanSummary(has_changes=has_changes, counts=counts, gaps=gaps)


def failed_summary(has_changes: bool, narrowed: bool) -> PlanSummary:  # noqa: FBT001 - both are answers of the engine
    """What is left to say when a plan could not be analysed: whether it changes anything, and no number."""
    gaps = [PlanGap(reason=GapReason.ANALYSIS_FAILED)]
    return PlanSummary(
        has_changes=has_changes, gaps=(*gaps, *([PlanGap(reason=GapReason.NARROWED)] if narrowed else []))
    )


def _counts(changes: PlanChanges) -> PlanCounts:
    actions = Counter(change.action for change in changes.resources)
    operations = Counter(operation.kind for change in changes.resources for operation in change.state_ops)
    return PlanCounts(
        create=actions[ChangeAction.CREATE],
        update=actions[ChangeAction.UPDATE],
        delete=actions[ChangeAction.DELETE],
        replace=actions[ChangeAction.REPLACE],
        read=actions[ChangeAction.READ],
        forget=operations[StateOpKind.FORGET],
        imports=operations[StateOpKind.IMPORT],
        moves=operations[StateOpKind.MOVE],
        outputs_changed=len(changes.outputs),
    )


def _gaps(document: Json, changes: PlanChanges, *, has_changes: bool, narrowed: bool) -> list[PlanGap]:
    gaps = [PlanGap(reason=GapReason.NARROWED)] if narrowed else []
    gaps += [PlanGap(reason=GapReason.DEFERRED, address=change.address) for change in changes.deferred]
    gaps += [
        PlanGap(reason=GapReason.UNKNOWN_ACTION, address=address) for address in _not_understood(document, changes)
    ]
    if document.get("errored") is True:
        gaps.append(PlanGap(reason=GapReason.ERRORED))
    # A narrowed, deferred or failed plan is never complete; saying so twice explains nothing.
    if document.get("complete") is False and not gaps:
        gaps.append(PlanGap(reason=GapReason.INCOMPLETE))
    anything = bool(changes.resources or changes.outputs or (has_changes and changes.drift))
    if anything is not has_changes:
        # The engine's exit code and its document disagree, so something was not understood.
        gaps.append(PlanGap(reason=GapReason.UNKNOWN))
    return gaps


def _not_understood(document: Json, changes: PlanChanges) -> list[str]:
    """Whose action is not known here: resources and outputs, and what newer engines invoke beside them."""
    unknown = ChangeAction.UNKNOWN
    found = [change.address for change in changes.resources if change.action is unknown]
    found += [f"output.{change.name}" for change in changes.outputs if change.action is unknown]
    invoked = [
        *objects(document.get("action_invocations")),
        *(an_object(each.get("action_invocation")) for each in objects(document.get("deferred_action_invocations"))),
    ]
    return [*found, *(str(each.get("address", "action")) for each in invoked)]
