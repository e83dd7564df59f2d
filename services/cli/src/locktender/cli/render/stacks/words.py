"""Colours and words for stacks. How a deployment is shown is declared in the contracts, for every client alike."""

import re
from collections.abc import Iterator
from datetime import datetime
from typing import Any

from rich.text import Text

from locktender.contracts.stacks.presentation import MODE_LABELS, STACK_PRESENTATIONS, StackDisplay, StackHue
from locktender.contracts.stacks.vocabulary import DeploymentMode

Json = dict[str, Any]

HUES = {
    StackHue.BLUE: "blue",
    StackHue.GREEN: "green",
    StackHue.AMBER: "yellow",
    StackHue.RED: "red",
    StackHue.NEUTRAL: "dim",
}
_SEQUENCE = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|.)?")
_UNITS = (("d", 86_400), ("h", 3600), ("m", 60))
_PLAN_MODES = {"plan", "destroy", "refresh"}


def shown_as(state: str) -> Text:
    """A state of the presentation table, or of an API that is newer than this command."""
    if state not in set(StackDisplay):
        return Text(state)
    shown = STACK_PRESENTATIONS[StackDisplay(state)]
    return Text(shown.label.lower(), style=HUES[shown.hue])


def status_text(deployment: Json) -> Text:
    """What a deployment is."""
    return shown_as(str(deployment.get("presentation") or deployment["status"]))


def mode_word(mode: str) -> str:
    """What a deployment or a run is for, in one word."""
    return MODE_LABELS[DeploymentMode(mode)] if mode in set(DeploymentMode) else mode


def name_of(deployment: Json) -> str:
    """`network #12`."""
    return f"{deployment['stack']} #{deployment['number']}"


def visible(text: str) -> str:
    """Text without anything that a terminal would obey instead of show."""
    plain = _SEQUENCE.sub("", text)
    return "".join(char for char in plain if char.isprintable() or char == "\t")


def when(stamp: str | None) -> str:
    """A stamp of the API, to the second, in UTC."""
    if stamp is None:
        return ""
    return f"{datetime.fromisoformat(stamp):%Y-%m-%d %H:%M:%S}"


def age(stamp: str | None, now: datetime) -> str:
    """How long ago that was, in its largest unit: `12 s`, `3 m`, `2 h`, `5 d`."""
    if stamp is None:
        return ""
    seconds = max(int((now - datetime.fromisoformat(stamp)).total_seconds()), 0)
    unit, size = next((each for each in _UNITS if seconds >= each[1]), ("s", 1))
    return f"{seconds // size} {unit}"


def lasting(seconds: int) -> str:
    """A length of time, exactly: `90 s`, `2 h`, `7 d`."""
    unit, size = next((each for each in _UNITS if seconds and seconds % each[1] == 0), ("s", 1))
    return f"{seconds // size} {unit}"


def until(stamp: str, now: datetime) -> str:
    """How long it is until then, in words."""
    seconds = (datetime.fromisoformat(stamp) - now).total_seconds()
    minutes = int(max(seconds, 0.0) // 60)
    hours, rest = divmod(minutes, 60)
    if seconds < 60:  # noqa: PLR2004 - a minute
        return "in less than a minute" if seconds > 0 else "now"
    return f"in {hours} h {rest:02} m" if hours else f"in {minutes} m"


def runs_of(deployment: Json) -> Iterator[Json]:
    """The runs of a deployment, in order."""
    for stage in deployment["stages"]:
        if stage["run"] is not None:
            yield stage["run"]


def plan_run(deployment: Json) -> Json | None:
    """The newest run that planned, or is planning: the one that a confirmation is about."""
    plans = [run for run in runs_of(deployment) if run["mode"] in _PLAN_MODES]
    return plans[-1] if plans else None


def sentence_of(run: Json) -> str:
    """What a plan comes to in numbers, and what these do not describe. Never the ones without the other."""
    plan: Json | None = run["plan"]
    if plan is not None:
        return str(plan["sentence"])
    if run["hasChanges"] is None:
        return "There is no plan."
    return "It has changes; how many is not known." if run["hasChanges"] else "No changes."
