"""The texts of a plan that come from manifests or clusters, and so may have to be freed of secrets."""

from collections.abc import Callable

from locktender.contracts.deployments.plan import FieldChange, FieldConflict, Plan, PlannedDocument, PlanWarning

Clean = Callable[[str], str]


def cleaned(plan: Plan, clean: Clean) -> Plan:
    """`plan` with each of these texts as `clean` gives it back. Names of objects stay as they are."""
    return plan.model_copy(update={"documents": tuple(_document(each, clean) for each in plan.documents)})


def _document(document: PlannedDocument, clean: Clean) -> PlannedDocument:
    return document.model_copy(
        update={
            "changes": tuple(_change(change, clean) for change in document.changes),
            "conflicts": tuple(_conflict(conflict, clean) for conflict in document.conflicts),
            "warnings": tuple(_warning(warning, clean) for warning in document.warnings),
            "message": _text(document.message, clean),
            "hint": _text(document.hint, clean),
        }
    )


def _change(change: FieldChange, clean: Clean) -> FieldChange:
    return change.model_copy(
        update={
            "path": clean(change.path),
            "before": _text(change.before, clean),
            "after": _text(change.after, clean),
        }
    )


def _conflict(conflict: FieldConflict, clean: Clean) -> FieldConflict:
    return conflict.model_copy(update={"manager": clean(conflict.manager), "field": clean(conflict.field)})


def _warning(warning: PlanWarning, clean: Clean) -> PlanWarning:
    return warning.model_copy(update={"message": clean(warning.message), "hint": _text(warning.hint, clean)})


def _text(said: str | None, clean: Clean) -> str | None:
    return None if said is None else clean(said)
