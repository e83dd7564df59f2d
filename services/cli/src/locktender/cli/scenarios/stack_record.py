"""How long each part of a deployment of a stack took, from the stamps of its record."""

from typing import Any

from locktender.cli.render.listing import Listing
from locktender.cli.render.stacks.deployment import plan_sentence
from locktender.cli.render.stacks.words import name_of, runs_of, status_text
from locktender.cli.render.timing import moment

Json = dict[str, Any]

_PARTS = ("queued", "planning", "waiting", "starting", "applying")


def recorded(deployment: Json) -> Json:
    """One deployment for programs. A part that did not happen is None."""
    return {
        "number": deployment["number"],
        "status": deployment["status"],
        "plan": plan_sentence(deployment),
        "seconds": _parts(deployment),
    }


def record_listing(deployments: list[Json]) -> Listing:
    """The same for people."""
    rows = [
        (
            name_of(each),
            status_text(each),
            *("-" if spent is None else f"{spent:.2f}" for spent in _parts(each).values()),
            plan_sentence(each),
        )
        for each in deployments
    ]
    return Listing(("deployment", "ended", *_PARTS, "plan"), rows)


def _parts(deployment: Json) -> dict[str, float | None]:
    """Seconds until a runner began to plan, that it planned, that a person thought, until the apply began, and its own.

    They are differences of stamps that one database wrote, so they are comparable.
    """
    plan = next((run for run in runs_of(deployment) if run["mode"] == "plan"), None)
    applied = next((run for run in runs_of(deployment) if run["mode"] == "apply"), None)
    asked = next((stage for stage in deployment["stages"] if stage["kind"] == "confirmation"), None)
    begun = (
        _between(deployment["createdAt"], _of(plan, "startedAt")),
        _between(_of(plan, "startedAt"), _of(plan, "completedAt")),
        _between(_of(asked, "createdAt"), _of(asked, "completedAt")),
        _between(_of(applied, "createdAt"), _of(applied, "startedAt")),
        _between(_of(applied, "startedAt"), _of(applied, "completedAt")),
    )
    return dict(zip(_PARTS, begun, strict=True))


def _of(record: Json | None, stamp: str) -> str | None:
    return None if record is None else record[stamp]


def _between(first: str | None, last: str | None) -> float | None:
    begun, ended = moment(first), moment(last)
    return None if begun is None or ended is None else round((ended - begun).total_seconds(), 3)
