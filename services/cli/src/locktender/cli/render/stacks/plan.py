"""A plan in the terminal: each resource with its diff, outputs, what changed outside, and one sentence with numbers."""

from collections.abc import Iterator
from typing import Any

from rich.text import Text

from locktender.cli.render.stacks.words import sentence_of, visible

Json = dict[str, Any]

MARK_STYLES = {
    "+": "green",
    "-": "red",
    "~": "yellow",
    "<=": "cyan",
    ".": "dim",
    "#": "dim",
    "?": "yellow",
    "-/+": "magenta",
    "+/-": "magenta",
    "+/.": "green",
    "./+": "green",
}
_DONE = {
    "create": ("will be created", "green"),
    "update": ("will be updated in place", "yellow"),
    "delete": ("will be destroyed", "red"),
    "replace": ("must be replaced", "magenta"),
    "read": ("will be read during the apply", "cyan"),
    "forget": ("will be forgotten; it lives on outside of the state", "yellow"),
    "no-op": ("stays as it is", "dim"),
    "unknown": ("has an action that is not known here", "yellow"),
}
_DRIFTED = {"delete": ("is gone", "red"), "update": ("has changed", "yellow")}
_STATE_OPS = {"import": "imported", "move": "moved", "forget": "forgotten"}


UNKNOWN = "What would change in detail is not known here. The log shows it."


def plan_lines(run: Json, changes: Json | None, why: str = UNKNOWN) -> Iterator[Text]:
    """All that is known of the plan of a run. `changes` is None where that is less: then `why` is said."""
    if changes is not None:
        yield from _changed(changes)
    elif run["hasChanges"]:
        yield Text(visible(why), "yellow")
        yield Text()
    yield sentence(run)


def sentence(run: Json) -> Text:
    """The numbers, in yellow where they do not describe all of the plan."""
    plan: Json | None = run["plan"]
    whole = plan is not None and plan["countsComplete"]
    return Text.assemble(("Plan: ", "bold"), (visible(sentence_of(run)), "" if whole else "yellow"))


def resource_title(change: Json, words: dict[str, tuple[str, str]] | None = None) -> Text:
    """`# null_resource.a will be created`, with what becomes of the state and why."""
    told, style = (words or {}).get(change["action"]) or _DONE.get(change["action"]) or _DONE["unknown"]
    if change["action"] == "create" and any(each["kind"] == "forget" for each in change["stateOps"]):
        told = "will be created anew; the old one is forgotten and lives on"
    if change["action"] == "replace" and change["createFirst"]:
        told = "must be replaced; the new one is created first"
    title = Text.assemble(("  # ", "dim"), (visible(change["address"]), "bold"), " ", (told, style))
    if change["deposed"]:
        title.append(f" (deposed object {visible(change['deposed'])})", style="dim")
    return title


def state_notes(change: Json) -> Iterator[str]:
    """`moved from null_resource.b`, `imported as i-123`."""
    for each in change["stateOps"]:
        told = _STATE_OPS.get(each["kind"], visible(str(each["kind"])))
        if each["fromAddress"]:
            yield f"{told} from {visible(each['fromAddress'])}"
        elif each["id"]:
            yield f'{told} as "{visible(each["id"])}"'
        else:
            yield told


def diff_line(line: str) -> Text:
    """One line of a diff in the colour of its mark."""
    mark, _, _ = line.lstrip().partition(" ")
    return Text("  " + visible(line), style=MARK_STYLES.get(mark, ""))


def _changed(changes: Json) -> Iterator[Text]:
    if changes["drift"]:
        yield Text("Changed outside of the engine; no apply of this plan does that:", style="bold")
        for change in changes["drift"]:
            yield from _resource(change, _DRIFTED)
    for change in changes["resources"]:
        yield from _resource(change)
    if changes["outputs"]:
        yield Text("Outputs:", style="bold")
        for output in changes["outputs"]:
            yield from map(diff_line, output["diff"])
            if not output["diff"]:
                yield Text(f"    {output['action']} {visible(output['name'])}")
        yield Text()
    if changes["deferred"]:
        yield Text("Deferred to a later plan:", style="bold")
        for change in changes["deferred"]:
            yield from _resource(change)
    yield from _checks(changes["checks"])


def _resource(change: Json, words: dict[str, tuple[str, str]] | None = None) -> Iterator[Text]:
    yield resource_title(change, words)
    for note in state_notes(change):
        yield Text.assemble(("  # ", "dim"), (note, "cyan"))
    if change["reason"]:
        yield Text(f"  # {visible(change['reason'])}", style="dim")
    yield from map(diff_line, change["diff"])
    yield Text()


def _checks(checks: list[Json]) -> Iterator[Text]:
    wrong = [check for check in checks if check["status"] in {"fail", "error"}]
    for check in wrong:
        yield Text(f"check {visible(check['address'])} does not hold", style="yellow")
        yield from (Text(f"    {visible(message)}", style="yellow") for message in check["messages"])
    if wrong:
        yield Text()
