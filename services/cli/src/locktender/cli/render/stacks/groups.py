"""Pools of remote runners."""

from collections.abc import Iterator
from datetime import datetime
from typing import Any

from rich.text import Text

from locktender.cli.render.listing import Listing
from locktender.cli.render.stacks.words import age, visible, when

Json = dict[str, Any]


def groups_listing(found: Json, now: datetime) -> Listing | Text:
    """One line a group, and one a runner below it."""
    if not found["groups"]:
        return Text("there are no groups; make one with: locktender stack group create GROUP", style="dim")
    rows: list[tuple[str, str, str, str]] = []
    for group in found["groups"]:
        room = f"{len(group['runners'])} of {group['capacity']}"
        rows.append((group["name"], ", ".join(group["labels"]), room, "; ".join(_notes(group))))
        rows += [
            (f"  {visible(each['name'])}", each["status"], each["id"], f"seen {age(each['lastSeenAt'], now)} ago")
            for each in group["runners"]
        ]
    return Listing(("group", "labels", "runners", "note"), rows)


def _notes(group: Json) -> Iterator[str]:
    if group.get("oldTokenUntil"):
        yield f"its old token works until {when(group['oldTokenUntil'])} UTC"
    if group["lastDispatchError"]:
        yield f"last trouble: {visible(group['lastDispatchError']['message'])}"
