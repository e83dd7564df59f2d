"""A plan as people read it in the terminal."""

from typing import Any

from locktender.cli.render.plan import plan_text
from locktender.contracts.deployments.plan import (
    FieldChange,
    FieldConflict,
    Plan,
    PlannedAction,
    PlannedDocument,
    PlanWarning,
    WarningCode,
    summary_of,
)
from locktender.contracts.deployments.wire import ObjectRef


def document(name: str, action: PlannedAction, **more: Any) -> PlannedDocument:
    ref = ObjectRef(api_version="v1", kind="ConfigMap", namespace="shop", name=name)
    return PlannedDocument(index=0, ref=ref, action=action, **more)


def lines(*documents: PlannedDocument) -> list[str]:
    plan = Plan(documents=documents, summary=summary_of(documents))
    return plan_text(plan.model_dump(mode="json", by_alias=True)).plain.splitlines()


def test_every_object_has_a_line_and_its_fields_below() -> None:
    long = "x" * 80
    changes = (
        FieldChange(path="data.a", before="1", after="2"),
        FieldChange(path="data.b", after="3"),
        FieldChange(path="data.c", before="4"),
        FieldChange(path="data.d", masked=True),
        FieldChange(path="data.e", before=long, after="5"),
    )
    warning = PlanWarning(code=WarningCode.DEPRECATED_VERSION, message="v1beta1 is deprecated", hint="use v1")
    assert lines(
        document("new", PlannedAction.CREATE),
        document("moved", PlannedAction.CHANGE, changes=changes, omitted=7, warnings=(warning,)),
        document("same", PlannedAction.UNCHANGED),
        document(
            "held",
            PlannedAction.CONFLICT,
            conflicts=(FieldConflict(manager="gitops", field="data.a"),),
            message="partly managed by others",
            hint="force",
        ),
        document("bad", PlannedAction.REFUSED, reason="denied", message="the account may not"),
        document("again", PlannedAction.REPLACE),
        document("later", PlannedAction.UNKNOWN, message="known once its namespace is created"),
    ) == [
        (
            "plan: 1 to create, 1 to change, 1 to replace, 1 unchanged, 1 in conflict, 1 refused, 1 not known yet, "
            "1 warning"
        ),
        "   + ConfigMap shop/new",
        "   ~ ConfigMap shop/moved",
        "       data.a: 1 → 2",
        "       + data.b: 3",
        "       - data.c: 4",
        "       data.d: (withheld) differs",
        "       data.e:",
        f"         - {long}",
        "         + 5",
        "       … and 7 more fields",
        "       warning: v1beta1 is deprecated",
        "       hint: use v1",
        "   = ConfigMap shop/same",
        "   ! ConfigMap shop/held  partly managed by others",
        "       data.a is managed by gitops",
        "       hint: force",
        "   x ConfigMap shop/bad  the account may not",
        " -/+ ConfigMap shop/again",
        "   ? ConfigMap shop/later  known once its namespace is created",
    ]


def test_many_unchanged_objects_are_one_line() -> None:
    told = lines(*(document(str(number), PlannedAction.UNCHANGED) for number in range(30)))
    assert told == ["plan: 30 unchanged", "   = 30 unchanged"]


def test_a_plan_of_nothing_says_so() -> None:
    assert lines() == ["plan: nothing to do"]
