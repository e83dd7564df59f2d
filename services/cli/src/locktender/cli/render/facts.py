"""The lines about a task as a whole: what it is, what it waits for, where it comes from, how it ended."""

from collections.abc import Iterator
from datetime import datetime
from typing import Any

from rich.text import Text

from locktender.cli.render.timing import elapsed, left, moment
from locktender.cli.render.words import planned_numbers, span, status_text
from locktender.contracts.deployments.evidence import stopped
from locktender.contracts.deployments.models import Timeline

Snapshot = dict[str, Any]


def headline(snapshot: Snapshot, now: datetime) -> Text:
    """Name, status, how many are ready, how long it has taken."""
    task, cards = snapshot["task"], snapshot["timeline"]["cards"]
    ready = sum(card["status"] == "running" for card in cards)
    line = Text.assemble((task["displayName"], "bold"), "  ", status_text(task))
    if cards:
        line.append(f"  {ready}/{len(cards)} ready", style="dim")
    line.append(f"  {span(elapsed(task, now))}", style="dim")
    return line


def lineage(task: dict[str, Any]) -> Iterator[Text]:
    """The name that it goes by in the cluster, what it took the place of, and what took its place."""
    if task.get("instance"):
        yield Text.assemble(("instance: ", "dim"), task["instance"])
    if task.get("predecessorId"):
        yield Text.assemble(("in place of: ", "dim"), str(task["predecessorId"]))
    if task.get("supersededBy"):
        yield Text.assemble(("superseded by: ", "dim"), str(task["supersededBy"]))


def plan_line(snapshot: Snapshot) -> Iterator[Text]:
    """What the run was going to do, in numbers, once that is known."""
    summary = snapshot["timeline"].get("plan")
    numbers = planned_numbers(summary) if summary else ""
    if numbers:
        yield Text(f"plan: {numbers}", style="dim")


def wait_line(task: dict[str, Any], now: datetime) -> Iterator[Text]:
    """What it waits for, until when, and how long that still is."""
    blocker = task.get("blockedBy")
    if not blocker:
        return
    line = Text(str(blocker["message"]), style="yellow" if blocker["kind"] == "input" else "dim")
    deadline, seconds = moment(task.get("deadlineAt")), left(task, now)
    if deadline is not None and seconds is not None:
        line.append(f"; until {deadline.astimezone():%H:%M:%S}, {span(seconds)} left", style="dim")
    elif blocker["kind"] == "input":
        line.append("; for as long as it takes", style="dim")
    yield line


def asked_lines(task: dict[str, Any]) -> Iterator[Text]:
    """What a blocked task asks for."""
    asked = task.get("asked")
    if not asked:
        return
    yield Text(str(asked["message"]), style="yellow")
    for field in asked["inputs"]:
        yield Text.assemble("  ", field_text(field))
    yield Text(f"answer with: locktender deployments input {task['id']}", style="dim")


def field_text(field: dict[str, Any]) -> Text:
    """One input of a form, with what may be entered."""
    notes = [str(field["type"])]
    notes += [f"one of {', '.join(field['options'])}"] if field["options"] else []
    notes += ["required"] if field["required"] else []
    notes += ["secret"] if field["sensitive"] else []
    notes += [f"default {field['default']}"] if field.get("default") else []
    notes += [f"if {field['condition']}"] if field.get("condition") else []
    said = f"  {field['description'].strip()}" if field["description"].strip() else ""
    return Text.assemble((field["key"], "bold"), said, (f"  ({'; '.join(notes)})", "dim"))


def endings(snapshot: Snapshot) -> Iterator[Text]:
    """Why it ended as it did, and what can be done about it."""
    task, cards = snapshot["task"], snapshot["timeline"]["cards"]
    if task["status"] == "cancelled":
        yield Text(stopped(Timeline.model_validate(snapshot["timeline"])))
        return
    failure = task.get("failure")
    if not failure:
        return
    yield Text(f"{failure['reason']}: {failure['message']}", style="red")
    hints = [card["hint"] for card in cards if card["status"] == "failed" and card.get("hint")]
    yield from (Text(f"hint: {hint}", style="dim") for hint in dict.fromkeys(hints))
