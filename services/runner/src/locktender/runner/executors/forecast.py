"""What the plan says about a run before it writes anything: go on, or stop and say why."""

from collections.abc import Iterator, Mapping

from locktender.contracts.deployments.cards import CardStatus
from locktender.contracts.deployments.models import ApplyState, Card, FailureReason
from locktender.contracts.deployments.plan import FieldConflict, Plan, PlannedAction, PlannedDocument, PlanSummary
from locktender.contracts.deployments.wire import ObjectRef
from locktender.integrations.kube.live import Live
from locktender.runner.executors.overtaking import check_not_overtaken
from locktender.runner.executors.replacing import check_replaceable
from locktender.runner.executors.terms import ApplyStopped, Terms

_NAMED = 3


class Forecast:
    """A plan, held against the terms of the run."""

    def __init__(self, plan: Plan, live: Mapping[int, Live], terms: Terms) -> None:
        self._plan = plan
        self._stops = {
            document.index: stop
            for document in plan.documents
            if (stop := _stop(document, live.get(document.index), terms)) is not None
        }

    def cards(self, cards: Mapping[int, Card]) -> Iterator[Card]:
        """The cards with what is planned for them, and with why a document would be refused."""
        for document in self._plan.documents:
            card = cards[document.index].model_copy(
                update={"planned": document.action, "message": _worth_saying(document)}
            )
            stop = self._stops.get(document.index)
            if stop is not None:
                card = stopped_card(card, stop)
            yield card

    def check(self) -> None:
        """Nothing, when all documents can be applied.

        Raises:
            ApplyStopped: some cannot. Names the first, counts the rest.
        """
        if not self._stops:
            return
        first = next(iter(self._stops.values()))
        more = len(self._stops) - 1
        also = [str(each.ref) for each in self._plan.documents if each.index in self._stops][1 : _NAMED + 1]
        rest = "" if not more else f"; and {more} more: {', '.join(also)}{', ...' if more > _NAMED else ''}"
        raise ApplyStopped(first.reason, f"nothing was applied: {first}{rest}", first.hint)


def in_numbers(summary: PlanSummary) -> str:
    """A plan in one line."""
    parts = (
        (summary.create, "to create"), (summary.change, "to change"), (summary.replace, "to replace"),
        (summary.unchanged, "unchanged"), (summary.unknown, "known only later"),
        (summary.conflict, "in conflict"), (summary.refused, "refused"), (summary.warnings, "warnings"),
    )  # fmt: skip
    return "planned: " + (", ".join(f"{count} {what}" for count, what in parts if count) or "nothing")


def conflict_message(ref: ObjectRef, conflicts: list[FieldConflict]) -> str:
    """Who owns what: the first few by name, the rest counted."""
    owned = [f"{each.manager} owns {each.field.removeprefix('.')} of {ref}" for each in conflicts[:_NAMED]]
    more = len(conflicts) - _NAMED
    return ", ".join(owned) + (f", and {more} more fields" if more > 0 else "")


CONFLICT_HINT = "deploy with force to take the fields over, or remove them from the manifest"


def stopped_card(card: Card, stop: ApplyStopped) -> Card:
    """The card of a document that is not applied because of `stop`."""
    words = {"reason": str(stop.reason), "message": str(stop), "hint": stop.hint}
    return card.model_copy(update={"apply": ApplyState.REFUSED, "status": CardStatus.FAILED, **words})


def _stop(document: PlannedDocument, live: Live | None, terms: Terms) -> ApplyStopped | None:
    try:
        if live is not None:
            check_not_overtaken(document.ref, live.stamp, terms.stamp, force=terms.options.force)
        if document.action is PlannedAction.REPLACE:
            check_replaceable(document.ref, terms.options, ())
    except ApplyStopped as stop:
        return stop
    match document.action:
        case PlannedAction.CONFLICT:
            message = conflict_message(document.ref, list(document.conflicts)) or document.message or ""
            return ApplyStopped(FailureReason.APPLY_CONFLICT, message, CONFLICT_HINT)
        case PlannedAction.REFUSED:
            message = document.message or f"the cluster does not accept {document.ref}"
            return ApplyStopped(_reason(document.reason), message, document.hint)
        case (
            PlannedAction.CREATE
            | PlannedAction.CHANGE
            | PlannedAction.UNCHANGED
            | PlannedAction.REPLACE
            | PlannedAction.UNKNOWN
        ):
            return None


def _worth_saying(document: PlannedDocument) -> str | None:
    return document.warnings[0].message if document.warnings else None


def _reason(word: str | None) -> FailureReason:
    try:
        return FailureReason(word or "")
    except ValueError:
        return FailureReason.APPLY_FAILED
