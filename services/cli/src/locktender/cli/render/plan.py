"""A plan in the terminal: its numbers, then what would happen to each object, field by field."""

from collections.abc import Iterator
from typing import Any

from rich.text import Text

from locktender.cli.render.words import planned_numbers, ref_text

Plan = dict[str, Any]

_MARKS = {
    "create": ("+", "green"), "change": ("~", "yellow"), "unchanged": ("=", "dim"), "replace": ("-/+", "magenta"),
    "conflict": ("!", "red"), "refused": ("x", "red"), "unknown": ("?", "yellow"),
}  # fmt: skip
_UNCHANGED_SHOWN = 20
_SHORT = 60
_WIDTH = 4


def plan_text(plan: Plan) -> Text:
    """The whole plan, in the order of applying."""
    return Text("\n").join([_headline(plan), *_lines(plan)])


def _headline(plan: Plan) -> Text:
    summary = plan["summary"]
    words = planned_numbers(summary) or "nothing to do"
    warnings = summary["warnings"]
    more = f", {warnings} warning{'s' if warnings > 1 else ''}" if warnings else ""
    return Text.assemble(("plan: ", "bold"), words, (more, "yellow"))


def _lines(plan: Plan) -> Iterator[Text]:
    unchanged = plan["summary"]["unchanged"]
    for document in plan["documents"]:
        if document["action"] == "unchanged" and unchanged > _UNCHANGED_SHOWN and not document["warnings"]:
            continue
        yield from _document(document)
    if unchanged > _UNCHANGED_SHOWN:
        yield Text(f"{'=':>{_WIDTH}} {unchanged} unchanged", style="dim")


def _document(document: dict[str, Any]) -> Iterator[Text]:
    action = document["action"]
    mark, style = _MARKS.get(action, ("?", ""))
    line = Text.assemble(
        (f"{mark:>{_WIDTH}} ", style), (ref_text(document["ref"]), "dim" if style == "dim" else "bold")
    )
    if document["message"]:
        line.append(f"  {document['message']}", style=style)
    yield line
    for conflict in document["conflicts"]:
        yield _inside(Text.assemble(conflict["field"], (f" is managed by {conflict['manager']}", "red")))
    for change in document["changes"]:
        yield from map(_inside, _change(change))
    if document["omitted"]:
        yield _inside(Text(f"… and {document['omitted']} more fields", style="dim"))
    if document["hint"]:
        yield _inside(Text(f"hint: {document['hint']}", style="dim"))
    said = {document["message"]}
    for warning in document["warnings"]:
        if warning["message"] not in said:
            yield _inside(Text(f"warning: {warning['message']}", style="yellow"))
        if warning["hint"] and warning["hint"] != document["hint"]:
            yield _inside(Text(f"hint: {warning['hint']}", style="dim"))


def _change(change: dict[str, Any]) -> Iterator[Text]:
    path, before, after = change["path"], change["before"], change["after"]
    if change["masked"]:
        yield Text.assemble(f"{path}: ", ("(withheld) differs", "yellow"))
    elif before is None:
        yield Text.assemble(("+ ", "green"), f"{path}: ", (str(after), "green"))
    elif after is None:
        yield Text.assemble(("- ", "red"), f"{path}: ", (before, "red"))
    elif len(before) + len(after) <= _SHORT:
        yield Text.assemble(f"{path}: ", (before, "red"), " → ", (after, "green"))
    else:
        yield Text(f"{path}:")
        yield Text(f"  - {before}", style="red")
        yield Text(f"  + {after}", style="green")


def _inside(text: Text) -> Text:
    return Text.assemble(" " * (_WIDTH + 3), text)
