"""A deployment in the terminal: what it is and waits for, and its stages with who brought them about."""

from collections.abc import Iterator
from datetime import datetime
from typing import Any

from rich.text import Text

from locktender.cli.render.listing import Listing
from locktender.cli.render.stacks.words import (
    age,
    mode_word,
    name_of,
    plan_run,
    sentence_of,
    status_text,
    until,
    visible,
    when,
)
from locktender.contracts.stacks.presentation import StackAction

Json = dict[str, Any]

_PHASES = {
    "waiting": ("·", "dim"), "running": ("◌", "blue"), "requested_cancellation": ("◌", "yellow"),
    "cancelling": ("◌", "yellow"), "done": ("✓", "green"), "failed": ("✗", "red"), "cancelled": ("-", "dim"),
    "skipped": ("-", "dim"),
}  # fmt: skip
_KINDS = {
    "plan_run": "plan", "destroy_run": "plan of a destroy", "refresh_run": "plan of a refresh",
    "apply_run": "apply", "raw_run": "command", "confirmation": "confirmation",
}  # fmt: skip
_DECISIONS = {"apply": "apply it", "replan": "plan anew", "skip": "skip it"}
_SHORT_COMMIT = 12


def deployment_lines(deployment: Json, now: datetime) -> Iterator[Text]:
    """All of a deployment but the changes of its plan."""
    yield headline(deployment)
    commit = deployment["commit"]
    subject = f"  {visible(commit['subject'])}" if commit["subject"] else ""
    found = f"  ({visible(commit['ref'])})" if commit["ref"] else ""
    yield Text.assemble(("source: ", "dim"), commit["id"][:_SHORT_COMMIT], found, subject)
    if deployment["note"]:
        yield Text.assemble(("note: ", "dim"), visible(deployment["note"]))
    yield Text.assemble(
        ("made by: ", "dim"),
        deployment["createdBy"] or "nobody that is known",
        f", {when(deployment['createdAt'])} UTC",
    )
    if deployment["prioritizedAt"]:
        yield Text.assemble(("goes first: ", "dim"), f"prioritized by {deployment['prioritizedBy']}")
    for stage in deployment["stages"]:
        yield from _stage(stage)
    yield from wait_lines(deployment, now)
    yield from endings(deployment)


def headline(deployment: Json) -> Text:
    """`network #12  plan  needs confirmation`."""
    return Text.assemble((name_of(deployment), "bold"), f"  {mode_word(deployment['mode'])}  ", status_text(deployment))


def status_line(deployment: Json) -> Text:
    """The same, and what it waits for, on one line."""
    line = headline(deployment)
    blocker = deployment["blockedBy"]
    if blocker is not None:
        line.append(f"  {visible(blocker['message'])}", style="dim")
    return line


def wait_lines(deployment: Json, now: datetime) -> Iterator[Text]:
    """What stands between it and its next step, and until when."""
    blocker = deployment["blockedBy"]
    if blocker is None:
        return
    yield Text.assemble(("now: ", "dim"), (visible(blocker["message"]), "yellow"))
    told = visible(deployment["deadline"] or "")
    if deployment["deadlineAt"]:
        at = deployment["deadlineAt"]
        yield Text.assemble(("until: ", "dim"), f"{when(at)} UTC, {until(at, now)}. ", told)
    elif told:
        yield Text.assemble(("deadline: ", "dim"), told)


def endings(deployment: Json) -> Iterator[Text]:
    """How it ended and why."""
    failure, ending = deployment["failure"], deployment["ending"]
    if failure is not None:
        yield Text(f"{failure['reason']}: {visible(failure['message'])}", style="red")
    if ending is not None and (failure is None or ending != failure["message"]):
        yield Text(visible(ending))
    if deployment["skippedReason"]:
        yield Text(f"skipped by itself: {deployment['skippedReason'].replace('_', ' ')}", style="dim")


def next_steps(deployment: Json) -> Iterator[Text]:
    """What to do now, as commands."""
    stack, number, actions = deployment["stack"], deployment["number"], deployment["actions"]
    if StackAction.CONFIRM in actions:
        yield Text(f"Apply it with: locktender stack confirm {stack} {number}")
        yield Text(f"Or drop it with: locktender stack skip {stack} {number}", style="dim")
    elif deployment["presentation"] == "lost":
        yield Text("What the apply did is unknown. Look with: locktender stack refresh " + stack, style="yellow")
    elif deployment["status"] == "failed":
        run = deployment["stages"][-1]["run"] if deployment["stages"] else None
        if run is not None and run["logBytes"]:
            yield Text(f"Read why with: locktender stack logs {stack} {number}")
        if StackAction.RETRY in actions:
            yield Text(f"Try again with: locktender stack retry {stack} {number}", style="dim")
    elif deployment["status"] == "finished" and deployment["mode"] == "plan" and _applied(deployment):
        yield Text(f"See its outputs with: locktender stack outputs {stack}", style="dim")
    elif deployment["completedAt"] is None:
        yield Text(f"Watch it with: locktender stack watch {stack} {number}", style="dim")


def _applied(deployment: Json) -> bool:
    return any(stage["kind"] == "apply_run" for stage in deployment["stages"])


def deployments_listing(page: Json, now: datetime) -> Listing | Text:
    """Deployments of a stack, newest first."""
    if not page["deployments"]:
        return Text("nothing was deployed yet", style="dim")
    rows = [
        (
            *(str(each["number"]), mode_word(each["mode"]), status_text(each)),
            *(each["createdBy"] or "-", age(each["createdAt"], now)),
            visible(each["blockedBy"]["message"] if each["blockedBy"] else each["ending"] or each["note"]),
        )
        for each in page["deployments"]
    ]
    return Listing(("number", "mode", "status", "by", "age", "now / ending"), rows)


def plan_sentence(deployment: Json) -> str:
    """What its plan comes to."""
    run = plan_run(deployment)
    return "There is no plan." if run is None else visible(sentence_of(run))


def stage_title(stage: Json) -> Text:
    """`✓ 1. plan  done  by ada`."""
    mark, style = _PHASES.get(stage["phase"], ("?", ""))
    line = Text.assemble((f"  {mark} ", style), f"{stage['ordinal']}. {_KINDS.get(stage['kind'], stage['kind'])}")
    line.append(f"  {stage['phase'].replace('_', ' ')}", style=style)
    if stage["actor"]:
        line.append(f"  by {visible(stage['actor'])}", style="dim")
    if stage["decision"] == "auto-apply":
        line.append("  by itself, as the stack says", style="dim")
    elif stage["decision"] and stage["run"] is None:
        line.append(f"  {_DECISIONS.get(stage['decision'], stage['decision'])}", style="dim")
    return line


def _stage(stage: Json) -> Iterator[Text]:
    yield stage_title(stage)
    run: Json | None = stage["run"]
    if run is None:
        return
    engine = f", {run['tool']} {run['toolVersion']}" if run["tool"] else ""
    times = "once" if run["attempts"] == 1 else f"{run['attempts']} times"
    attempts = f", promised {times} in vain" if run["attempts"] else ""
    yield _below(f"run {run['id']}: {run['status'].replace('_', ' ')}, group {run['runnerGroup']}{engine}{attempts}")
    yield from map(_below, _narrowed(run["narrowing"]))
    if run["hasChanges"] is not None and run["mode"] not in {"apply", "raw"}:
        yield _below(visible(sentence_of(run)), "" if run["plan"] and run["plan"]["countsComplete"] else "yellow")
    binding: Json | None = run["binding"]
    if binding is not None:
        serial = "no state yet" if binding["stateSerial"] is None else f"state serial {binding['stateSerial']}"
        yield _below(f"plan {binding['planDigest'][:_SHORT_COMMIT]} of {binding['commit'][:_SHORT_COMMIT]}, {serial}")
    if run["failure"]:
        yield _below(f"{run['failure']['reason']}: {visible(run['failure']['message'])}", "red")


def _narrowed(narrowing: Json) -> Iterator[str]:
    words = {"targets": "only", "excludes": "all but", "replaces": "made anew"}
    for name, told in words.items():
        if narrowing[name]:
            yield f"{told}: {', '.join(map(visible, narrowing[name]))}"


def _below(told: str, style: str = "dim") -> Text:
    return Text("       " + told, style=style)
