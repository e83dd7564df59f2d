"""What a stack has: its resources and outputs, its variables, the versions of its state, and who did what."""

import json
from collections.abc import Iterator
from datetime import datetime
from typing import Any

from rich.text import Text

from locktender.cli.render.listing import Listing
from locktender.cli.render.stacks.words import age, mode_word, visible, when

Json = dict[str, Any]

_WIDE = 120


def knowledge_lines(found: Json) -> Iterator[Text]:
    """Who found it, and why it may be otherwise by now; or why it is not known, which is not the same as nothing."""
    if not found["known"]:
        yield Text(f"not known: {visible(found['reason'] or 'no run has told it yet')}", style="yellow")
        return
    source = found["source"]
    run = f"deployment #{source['deploymentNumber']} ({mode_word(source['runMode'])})"
    yield Text(f"as {run} found it at {when(source['completedAt'])} UTC", style="dim")
    if found["outdated"]:
        yield Text(visible(found["outdated"]), style="yellow")


def resources_listing(resources: list[Json]) -> Listing | Text:
    """The inventory."""
    if not resources:
        return Text("the state is empty", style="dim")
    rows = [(visible(each["address"]), each["type"], _remark(each)) for each in resources]
    return Listing(("address", "type", "note"), rows)


def resource_lines(resource: Json) -> Iterator[Text]:
    """Everything about one resource."""
    yield Text.assemble(
        (visible(resource["address"]), "bold"), f"  {resource['type']}  ", (_remark(resource), "yellow")
    )
    for needed in resource.get("dependsOn") or ():
        yield Text.assemble(("needs: ", "dim"), visible(needed))
    attributes: Json = resource.get("attributes") or {}
    for name, value in sorted(attributes.items()):
        yield Text.assemble(f"  {visible(name)} = ", value_text(value))


def output_lines(outputs: list[Json]) -> Iterator[Text]:
    """The outputs, sensitive ones withheld."""
    if not outputs:
        yield Text("there are no outputs", style="dim")
    for output in outputs:
        shown = "(sensitive value)" if output["sensitive"] else value_text(output["value"])
        yield Text.assemble((visible(output["name"]), "bold"), " = ", (shown, "dim" if output["sensitive"] else ""))


def variables_listing(found: Json) -> Listing | Text:
    """What runs are given."""
    if not found["variables"]:
        return Text("there are no variables", style="dim")
    rows = [
        (
            *(each["name"], each["kind"], each["updatedBy"], when(each["updatedAt"])),
            "(sensitive value)" if each["value"] is None else _short(visible(each["value"])),
        )
        for each in found["variables"]
    ]
    return Listing(("name", "kind", "set by", "at", "value"), rows)


def versions_listing(page: Json, now: datetime) -> Listing | Text:
    """The versions of a state, newest first."""
    if not page["versions"]:
        return Text("there is no state yet", style="dim")
    rows = [
        (
            *(each["id"], str(each["serial"]), f"{each['size']} B", age(each["createdAt"], now)),
            f"{each['origin']} by {visible(each['createdBy'])}" + (" (current)" if each["current"] else ""),
        )
        for each in page["versions"]
    ]
    return Listing(("version", "serial", "size", "age", "came from"), rows)


def state_lines(version: Json | None) -> Iterator[Text]:
    """One version of a state, all of it."""
    if version is None:
        yield Text("there is no state yet", style="dim")
        return
    facts = {
        "serial": version["serial"], "lineage": version["lineage"], "version": version["id"],
        "size": f"{version['size']} B",
        "came from": f"{version['origin']} by {visible(version['createdBy'])}, {when(version['createdAt'])} UTC",
    }  # fmt: skip
    for title, told in facts.items():
        yield Text.assemble((f"{title}: ", "dim"), str(told))


def activity_lines(trail: Json) -> Iterator[Text]:
    """Who did what, oldest first."""
    for entry in trail["entries"]:
        yield Text.assemble(
            (f"{when(entry['at'])}  ", "dim"),
            (f"{(entry['kind'] or entry['status'] or '').replace('_', ' '):<24}", "bold"),
            visible(entry["message"]),
            (f"  {visible(entry['actor'])}" if entry["actor"] else "", "dim"),
        )
    if not trail["entries"]:
        yield Text("nothing is recorded", style="dim")


def value_text(value: object) -> str:
    """A value on one line, shortened."""
    return _short(visible(json.dumps(value, ensure_ascii=False)))


def _remark(resource: Json) -> str:
    notes = ["data"] if resource["mode"] == "data" else []
    notes += ["tainted"] if resource.get("tainted") else []
    notes += ["deposed"] if resource.get("deposed") else []
    return ", ".join(notes)


def _short(text: str) -> str:
    return text if len(text) <= _WIDE else text[: _WIDE - 1] + "…"
