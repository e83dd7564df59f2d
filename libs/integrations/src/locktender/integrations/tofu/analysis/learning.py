"""Where the secret values of a described plan stand."""

from locktender.integrations.tofu.analysis.reading import Json, a_text, an_object, objects
from locktender.integrations.tofu.analysis.trees import pruned, sensitivity
from locktender.integrations.tofu.analysis.withholding import Withheld


def learn_plan(document: Json, withheld: Withheld) -> None:
    """Learn every value that a plan calls sensitive: of variables, changes, drift and outputs.

    What is planned is what the changes lead to, so the planned values hold no others.

    Raises:
        Unreadable: the document is not what the engine writes.
    """
    _variables(document, withheld)
    deferred = (an_object(each.get("resource_change")) for each in objects(document.get("deferred_changes")))
    for entry in (*objects(document.get("resource_changes")), *objects(document.get("resource_drift")), *deferred):
        _change(a_text(entry.get("type")), an_object(entry.get("change")), withheld)
    for change in an_object(document.get("output_changes")).values():
        _change("", an_object(change), withheld)


def _change(kind: str, change: Json, withheld: Withheld) -> None:
    for side in ("before", "after"):
        marks = sensitivity(kind, change.get(f"{side}_sensitive"))
        withheld.learn(change.get(side), marks)
        # Whoever reads the marks again has less to read.
        change[f"{side}_sensitive"] = marks


def _variables(document: Json, withheld: Withheld) -> None:
    """A document gives the values of all variables in clear, and their marks in the configuration."""
    given = an_object(document.get("variables"))
    root = an_object(an_object(document.get("configuration")).get("root_module"))
    for name, each in an_object(root.get("variables")).items():
        variable = an_object(each)
        marks = pruned(variable.get("sensitive"))
        withheld.learn(variable.get("default"), marks)
        withheld.learn(an_object(given.get(name)).get("value"), marks)
