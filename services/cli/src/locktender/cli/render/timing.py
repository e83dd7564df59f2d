"""How long things took, from what is recorded: the events of a task say when each of its stages began."""

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from locktender.contracts.deployments import flow

Snapshot = dict[str, Any]

APPLYING_STEP = "create-resources"
"""The step in which documents are applied and waited for; in every kind of run it is the last."""

_PREPARES = frozenset({flow.CLAIM.event, flow.RESUME.event})
_APPLIES = frozenset({flow.BEGIN_APPLYING.event})
_RESTS = frozenset(
    step.event
    for step in flow.DEPLOYMENT_TASK.transitions
    if step.event and step.target is not None and step.target not in flow.DEPLOYMENT_TASK.leased
)
_STAGES = _PREPARES | _APPLIES | _RESTS


def moment(stamp: str | None) -> datetime | None:
    """A stamp of the API."""
    return None if stamp is None else datetime.fromisoformat(stamp)


class Stages:
    """The stages of one task, gathered from the events of all snapshots that were seen of it.

    A snapshot has the latest events only, so a long run would lose its beginning otherwise.
    """

    def __init__(self) -> None:
        self._begun: dict[int, tuple[str, datetime]] = {}
        self._first = 0

    def learn(self, events: Iterable[dict[str, Any]]) -> None:
        """Take in the events of a snapshot or of a page."""
        for event in events:
            revision = int(event["revision"])
            self._first = min(self._first or revision, revision)
            if event["kind"] in _STAGES:
                self._begun[revision] = (str(event["kind"]), datetime.fromisoformat(event["createdAt"]))

    @property
    def whole(self) -> bool:
        """Whether the beginning is known."""
        return self._first == 1

    def seconds(self, steps: Iterable[dict[str, Any]], now: datetime) -> dict[str, float]:
        """How long each step has been worked on, by its id. Waiting for a person does not count."""
        if not self.whole:
            return {}
        spent = {"prepare": 0.0, "apply": 0.0}
        stage, since = None, now
        for _, (kind, at) in sorted(self._begun.items()):
            if stage is not None:
                spent[stage] += (at - since).total_seconds()
            stage, since = _stage(kind), at
        if stage is not None:
            spent[stage] += max((now - since).total_seconds(), 0.0)
        # A run that was cut off leaves its last step skipped, and it was worked on all the same.
        worked = [str(step["id"]) for step in steps if step["status"] != "pending"]
        prepared = [step for step in worked if step != APPLYING_STEP][-1:]
        found = dict.fromkeys(prepared, spent["prepare"])
        if APPLYING_STEP in worked and spent["apply"]:
            found[APPLYING_STEP] = spent["apply"]
        return found


def elapsed(task: dict[str, Any], now: datetime) -> float:
    """Seconds from the request to the end, or until now."""
    created = datetime.fromisoformat(task["createdAt"])
    # A clock that is behind that of the API must not show a time before it.
    end = moment(task.get("completedAt")) or max(now, datetime.fromisoformat(task["updatedAt"]))
    return (end - created).total_seconds()


def left(task: dict[str, Any], now: datetime) -> float | None:
    """Seconds until the present wait is given up; None where it has no end."""
    deadline = moment(task.get("deadlineAt"))
    return None if deadline is None else max((deadline - now).total_seconds(), 0.0)


def _stage(kind: str) -> str | None:
    if kind in _PREPARES:
        return "prepare"
    return "apply" if kind in _APPLIES else None
