"""What a state holds: its resources with masked attributes, and its outputs."""

from collections.abc import Iterator
from dataclasses import dataclass

from locktender.contracts.stacks.analysis import StateInventory, StateOutput, StateResource
from locktender.integrations.tofu.analysis.reading import (
    Json,
    a_text,
    a_text_or_none,
    an_object,
    is_object,
    objects,
    texts,
)
from locktender.integrations.tofu.analysis.trees import Tree, pruned, sensitivity
from locktender.integrations.tofu.analysis.withholding import Withheld, masked


@dataclass(frozen=True, slots=True)
class DescribedState:
    """A state as it is described, with what is sensitive of each resource."""

    resources: tuple[tuple[Json, str | None, Tree], ...]
    outputs: Json

    def inventory(self, withheld: Withheld) -> StateInventory:
        """What the state holds, without what `withheld` knows.

        Raises:
            Unreadable: the document is not what the engine writes.
        """
        resources = tuple(_resource(*each, withheld) for each in self.resources)
        outputs = tuple(_output(name, an_object(each), withheld) for name, each in sorted(self.outputs.items()))
        return StateInventory(resources=resources, outputs=outputs)


def described_state(values: Json, withheld: Withheld) -> DescribedState:
    """A state from its `values`, which are missing of an empty one. `withheld` learns every secret of it.

    Raises:
        Unreadable: the document is not what the engine writes.
    """
    state = DescribedState(
        tuple(
            (entry, module, sensitivity(a_text(entry.get("type")), entry.get("sensitive_values")))
            for entry, module in _entries(values)
        ),
        an_object(values.get("outputs")),
    )
    for entry, _, marks in state.resources:
        withheld.learn(entry.get("values"), marks)
    for each in state.outputs.values():
        output = an_object(each)
        withheld.learn(output.get("value"), pruned(output.get("sensitive")))
    return state


def prior_values(described: Json) -> Json:
    """The `values` of the state that a plan was made against; empty where there is none.

    The engine leaves the prior state out where it is empty. Into one that is there it writes the outputs as they would
    be after an apply, as far as it knows them. What the state has recorded of them is in the changes alone.
    """
    values = an_object(an_object(described.get("prior_state")).get("values"))
    outputs = dict(an_object(values.get("outputs")))
    for name, each in an_object(described.get("output_changes")).items():
        change = an_object(each)
        actions = texts(change.get("actions"))
        if actions == ["no-op"]:
            continue
        outputs.pop(name, None)
        if actions != ["create"]:
            outputs[name] = {"value": change.get("before"), "sensitive": bool(change.get("before_sensitive"))}
    return values | {"outputs": outputs}


def _entries(values: Json) -> Iterator[tuple[Json, str | None]]:
    """Every resource of a state, with the address of its module, modules after what they are called from."""
    waiting: list[Json] = [an_object(values.get("root_module"))]
    while waiting:
        module = waiting.pop()
        address = a_text_or_none(module.get("address"))
        for entry in objects(module.get("resources")):
            yield entry, address
        waiting.extend(reversed(objects(module.get("child_modules"))))


def _resource(entry: Json, module: str | None, marks: Tree, withheld: Withheld) -> StateResource:
    shown = masked(an_object(entry.get("values")), marks, withheld)
    return StateResource(
        address=a_text(entry.get("address")),
        module=module,
        mode=a_text(entry.get("mode", "managed")),
        type=a_text(entry.get("type")),
        name=a_text(entry.get("name")),
        provider=a_text_or_none(entry.get("provider_name")),
        deposed=a_text_or_none(entry.get("deposed_key")),
        tainted=entry.get("tainted") is True,
        depends_on=tuple(texts(entry.get("depends_on"))),
        # A mark that covers the whole resource leaves its attributes without names.
        attributes=shown if is_object(shown) else {},
        sensitive=False if marks is None else marks,
    )


def _output(name: str, entry: Json, withheld: Withheld) -> StateOutput:
    sensitive = entry.get("sensitive") is True
    shown = masked(entry.get("value"), True if sensitive else None, withheld)
    return StateOutput(name=name, sensitive=sensitive, value=shown, type=entry.get("type"))
