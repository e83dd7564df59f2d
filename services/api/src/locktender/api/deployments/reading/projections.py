"""Stored tasks as the list of their project shows them. Pure: what time it is, the row says."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from functools import cached_property
from typing import Final, Literal

from locktender.contracts.deployments.canvas import Canvas
from locktender.contracts.deployments.cards import CardStatus
from locktender.contracts.deployments.flow import DEPLOYMENT_TASK, TaskPhase, TaskStatus
from locktender.contracts.deployments.models import ApplyState, Card, RunnerKind, Timeline
from locktender.contracts.deployments.policy import settled
from locktender.contracts.deployments.presentation import Facts, present
from locktender.contracts.deployments.projection import Display, Projection, ResultResource
from locktender.storage.deployments.projections import ProjectionRow

SUMMARY: Final = 48
RESOURCES: Final = 100
_MADE = frozenset({ApplyState.APPLIED, ApplyState.UNCHANGED})


class Shown:
    """A projection with what a stream has to know of it; encoded at most once, however many streams send it."""

    def __init__(self, row: ProjectionRow, grace: timedelta) -> None:
        self.projection = projection(row, grace)
        self.created_at = row.created_at
        self.read_at = row.read_at

    @cached_property
    def text(self) -> str:
        """The projection as JSON."""
        return self.projection.model_dump_json(by_alias=True)

    @property
    def visible_for(self) -> timedelta | None:
        """How long a canvas goes on to show it, after the read; None unless that ends by itself."""
        until = self.projection.visible_until
        return until - self.read_at if until is not None and self.projection.visible else None


class Board:
    """The newest tasks of a project at one moment of the database's clock, newest first."""

    def __init__(self, rows: Sequence[ProjectionRow], grace: timedelta) -> None:
        self.shown = tuple(Shown(row, grace) for row in rows)
        self.read_at: datetime | None = rows[0].read_at if rows else None

    @cached_property
    def text(self) -> str:
        """A `ProjectionList` as JSON."""
        return listed(self.shown)


def listed(shown: Sequence[Shown]) -> str:
    """A `ProjectionList` as JSON."""
    return f'{{"projections": [{", ".join(each.text for each in shown)}]}}'


def projection(row: ProjectionRow, grace: timedelta) -> Projection:
    """The task. A canvas shows it while it is active, and for `grace` after it completed with something to show."""
    status = TaskStatus(row.status)
    timeline = settled(Timeline.model_validate_json(row.timeline), status)
    made = [card for card in timeline.cards if card.apply in _MADE]
    required = [card for card in timeline.cards if card.required]
    facts = Facts(status, row.cancel_requested_at is not None, row.resume_requested_at is not None)
    presented = present(facts)
    until = _visible_until(row, status, grace, anything=bool(made) or row.instance is not None)
    return Projection(
        id=row.id,
        workspace=row.workspace,
        project=row.project,
        display_name=row.display_name,
        display=_display(row, timeline.cards, made),
        status=status,
        phase=TaskPhase(row.phase),
        presentation=presented.state,
        actions=presented.actions,
        revision=row.revision,
        predecessor_id=row.predecessor_id,
        superseded_by=row.superseded_by,
        cancel_requested_at=row.cancel_requested_at,
        ready=sum(card.status is CardStatus.RUNNING for card in required),
        total=len(required),
        resources=tuple(ResultResource(ref=card.ref, status=card.status) for card in made[:RESOURCES]),
        canvas=None if row.canvas is None else Canvas.model_validate_json(row.canvas),
        visible=status in DEPLOYMENT_TASK.active or (until is not None and row.read_at < until),
        visible_until=until,
        completed_at=row.completed_at,
        created_at=row.created_at,
        updated_at=row.updated_at,
    )


def _visible_until(row: ProjectionRow, status: TaskStatus, grace: timedelta, *, anything: bool) -> datetime | None:
    if status is not TaskStatus.COMPLETED or row.completed_at is None or not anything:
        return None
    return row.completed_at + grace


def _display(row: ProjectionRow, cards: Sequence[Card], made: Sequence[Card]) -> Display:
    kind: Literal["manifests", "template", "noop"]
    match RunnerKind(row.runner):
        case RunnerKind.DIRECT:
            kind, source = "manifests", _title(cards) or row.display_name
        case RunnerKind.TEMPLATE:
            kind, source = "template", row.template or "inline template"
        case RunnerKind.NOOP:
            kind, source = "noop", "nothing to deploy"
    result = row.instance or _title(made)
    return Display(
        source_kind=kind, source_summary=_short(source), result_summary=None if result is None else _short(result)
    )


def _title(cards: Sequence[Card]) -> str | None:
    """The first object in words, and how many more there are; the name gives way when both do not fit."""
    if not cards:
        return None
    more = f" and {len(cards) - 1} more" if len(cards) > 1 else ""
    return _short(f"{cards[0].ref.kind} {cards[0].ref.name}", SUMMARY - len(more)) + more


def _short(text: str, most: int = SUMMARY) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"
