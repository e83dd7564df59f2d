"""What the engine's words for an action and for its reason mean."""

from dataclasses import dataclass

from locktender.contracts.stacks.analysis import ChangeAction


@dataclass(frozen=True, slots=True)
class Meaning:
    """An action, the mark of the line that announces it, and what else it implies."""

    action: ChangeAction
    mark: str
    create_first: bool = False
    forgets: bool = False


_MEANINGS: dict[tuple[str, ...], Meaning] = {
    ("no-op",): Meaning(ChangeAction.NO_OP, " "),
    ("create",): Meaning(ChangeAction.CREATE, "+"),
    ("read",): Meaning(ChangeAction.READ, "<="),
    ("open",): Meaning(ChangeAction.READ, "<="),
    ("update",): Meaning(ChangeAction.UPDATE, "~"),
    ("delete",): Meaning(ChangeAction.DELETE, "-"),
    ("forget",): Meaning(ChangeAction.FORGET, ".", forgets=True),
    ("delete", "create"): Meaning(ChangeAction.REPLACE, "-/+"),
    ("create", "delete"): Meaning(ChangeAction.REPLACE, "+/-", create_first=True),
    ("create", "forget"): Meaning(ChangeAction.CREATE, "+/.", create_first=True, forgets=True),
    ("forget", "create"): Meaning(ChangeAction.CREATE, "./+", forgets=True),
}
_UNKNOWN = Meaning(ChangeAction.UNKNOWN, "?")

_REASONS = {
    "replace_because_tainted": "it is tainted: creating it did not succeed, or somebody said so",
    "replace_because_cannot_update": "what changes cannot be changed in place",
    "replace_by_request": "replacing it was asked for",
    "replace_by_triggers": "something that it is replaced along with changes",
    "delete_because_no_resource_config": "it is not in the configuration any more",
    "delete_because_no_module": "its module is not in the configuration any more",
    "delete_because_wrong_repetition": "its key does not fit the way in which it is repeated now",
    "delete_because_count_index": "its index is beyond the count",
    "delete_because_each_key": "its key is not among those of for_each any more",
    "delete_because_no_move_target": "it was moved to where nothing is configured",
    "read_because_config_unknown": "what to read is known only during the apply",
    "read_because_dependency_pending": "it depends on something that changes",
    "read_because_check_nested": "a check reads it anew each time",
}
_OTHER_REASON = "for a reason that is not known here"


def meaning(words: list[str]) -> Meaning:
    """What the actions of a change mean together."""
    return _MEANINGS.get(tuple(words), _UNKNOWN)


def reason_words(reason: str | None) -> str | None:
    """Why, in plain words."""
    return None if reason is None else _REASONS.get(reason, _OTHER_REASON)
