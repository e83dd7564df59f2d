"""Pools of remote runners."""

from typing import Any

from rich.text import Text

from locktender.cli.render.listing import Listing
from locktender.cli.render.stacks.words import visible, when

Json = dict[str, Any]


def groups_listing(found: Json) -> Listing | Text:
    """One line a group, and one a runner below it."""
    if not found["groups"]:
        return Text("there are no groups; runs go to Locktender's own runner", style="dim")
    rows: list[tuple[str, str, str, str]] = []
    for group in found["groups"]:
        error = group["lastDispatchError"]
        note = f"last trouble: {visible(error['message'])}" if error else ""
        rows.append((group["name"], ", ".join(group["labels"]), f"{len(group['runners'])}/{group['capacity']}", note))
        rows += [
            (f"  {visible(each['name'])}", each["status"], each["id"], f"seen {when(each['lastSeenAt'])} UTC")
            for each in group["runners"]
        ]
    return Listing(("group", "labels", "runners", "note"), rows)
