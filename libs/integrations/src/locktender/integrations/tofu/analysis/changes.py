"""The resources and outputs of a plan, one entry each, with what happens to them."""

from locktender.contracts.stacks.analysis import (
    ChangeAction,
    CheckResult,
    OutputChange,
    PlanChange,
    PlanChanges,
    StateOp,
    StateOpKind,
)
from locktender.integrations.tofu.analysis.actions import Meaning, meaning, reason_words
from locktender.integrations.tofu.analysis.bodies import Writer
from locktender.integrations.tofu.analysis.reading import Json, a_text, a_text_or_none, an_object, objects, texts
from locktender.integrations.tofu.analysis.trees import pruned
from locktender.integrations.tofu.analysis.withholding import Withheld


def plan_changes(document: Json, withheld: Withheld) -> PlanChanges:
    """All that the plan says about changes. Nothing in it shows what `withheld` knows.

    Raises:
        Unreadable: the document is not what the engine writes.
    """
    writer = Writer(withheld)
    return PlanChanges(
        resources=_resources(objects(document.get("resource_changes")), writer),
        outputs=_outputs(an_object(document.get("output_changes")), writer),
        drift=_resources(objects(document.get("resource_drift")), writer),
        deferred=_resources(
            [an_object(each.get("resource_change")) for each in objects(document.get("deferred_changes"))],
            writer,
            everything=True,
        ),
        checks=tuple(_check(each, withheld) for each in objects(document.get("checks"))),
    )


def _resources(entries: list[Json], writer: Writer, *, everything: bool = False) -> tuple[PlanChange, ...]:
    found = (_resource(entry, writer, everything=everything) for entry in entries)
    return tuple(each for each in found if each is not None)


def _resource(entry: Json, writer: Writer, *, everything: bool) -> PlanChange | None:
    """One entry; None where neither the object nor its place in the state changes."""
    change = an_object(entry.get("change"))
    meant = meaning(texts(change.get("actions")))
    mode = a_text(entry.get("mode", "managed"))
    operations = _state_ops(entry, change, meant, writer.withheld)
    # What was read is merely read no more, when a data source goes away.
    idle = meant.action is ChangeAction.NO_OP or (mode == "data" and meant.action is ChangeAction.DELETE)
    if idle and not operations and not everything:
        return None
    diff, elided = writer.resource(entry, change, meant)
    return PlanChange(
        address=a_text(entry.get("address")),
        module=a_text_or_none(entry.get("module_address")),
        mode=mode,
        type=a_text(entry.get("type")),
        name=a_text(entry.get("name")),
        provider=a_text_or_none(entry.get("provider_name")),
        deposed=a_text_or_none(entry.get("deposed")),
        action=meant.action,
        create_first=meant.create_first,
        state_ops=operations,
        reason=reason_words(a_text_or_none(entry.get("action_reason"))),
        diff=diff,
        elided=elided,
    )


def _state_ops(entry: Json, change: Json, meant: Meaning, withheld: Withheld) -> tuple[StateOp, ...]:
    found: list[StateOp] = []
    previous = a_text_or_none(entry.get("previous_address"))
    if previous is not None and previous != entry.get("address"):
        found.append(StateOp(kind=StateOpKind.MOVE, from_address=previous))
    if (importing := change.get("importing")) is not None:
        known = a_text_or_none(an_object(importing).get("id"))
        found.append(StateOp(kind=StateOpKind.IMPORT, id=None if known is None else withheld.text(known)))
    if meant.forgets:
        found.append(StateOp(kind=StateOpKind.FORGET))
    return tuple(found)


def _outputs(changes: Json, writer: Writer) -> tuple[OutputChange, ...]:
    found: list[OutputChange] = []
    for name, each in sorted(changes.items()):
        change = an_object(each)
        meant = meaning(texts(change.get("actions")))
        if meant.action is ChangeAction.NO_OP:
            continue
        diff, elided = writer.output(name, change)
        marks = (pruned(change.get("before_sensitive")), pruned(change.get("after_sensitive")))
        found.append(
            OutputChange(name=name, action=meant.action, sensitive=marks != (None, None), diff=diff, elided=elided)
        )
    return tuple(found)


def _check(entry: Json, withheld: Withheld) -> CheckResult:
    problems = [
        withheld.text(a_text(problem.get("message", "")))
        for instance in objects(entry.get("instances"))
        for problem in objects(instance.get("problems"))
    ]
    address = an_object(entry.get("address"))
    return CheckResult(
        address=a_text(address.get("to_display", "")),
        status=a_text(entry.get("status", "unknown")),
        messages=tuple(problems),
    )
