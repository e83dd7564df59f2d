"""Whatever happens while a reader is away: it is told enough to know the list as it is, or that it must begin anew."""

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from hypothesis import given
from hypothesis import strategies as st

from locktender.api.deployments.reading.projections import Shown
from locktender.api.deployments.watching.positions import Position, missed
from locktender.storage.deployments.projections import ProjectionRow

_START = datetime(2030, 1, 1, tzinfo=UTC)
_GRACE = timedelta(seconds=300)
_WINDOW = 6

# What happens, and how many seconds pass before it.
_STEPS = st.lists(
    st.tuples(st.sampled_from(("create", "redeploy", "move", "complete", "remove")), st.integers(0, 200)), max_size=14
)
_PICKS = st.lists(st.integers(0, 2**16), min_size=28, max_size=28)


class _Project:
    """The record of a project, by the rules by which the real one moves."""

    def __init__(self) -> None:
        self.now = _START
        self._rows: list[dict[str, Any]] = []
        self._made = 0

    def take(self, step: tuple[str, int], pick: int) -> None:
        what, seconds = step
        self.now += timedelta(seconds=seconds, microseconds=1)
        row = self._rows[pick % len(self._rows)] if self._rows else None
        if what == "create" or row is None:
            self._create(None)
        elif what == "redeploy":
            self._create(row["id"])
        elif what == "remove":
            self._rows.remove(row)
        else:
            done = what == "complete"
            row |= {"revision": row["revision"] + 1, "updated_at": self.now}
            row |= {"status": "completed", "completed_at": self.now} if done else {}

    def _create(self, predecessor: UUID | None) -> None:
        self._made += 1
        # The order of the bits that are compared is of no use to anybody: hence the factor.
        made = UUID(int=self._made * 0x9E3779B97F4A7C15F39CC0605CEDC835 % 2**128)
        self._rows.append(
            {
                "id": made, "workspace": "acme", "project": "shop", "display_name": "x", "runner": "template",
                "status": "running", "phase": "apply", "revision": 1, "predecessor_id": predecessor,
                "cancel_requested_at": None, "resume_requested_at": None, "completed_at": None,
                "created_at": self.now, "updated_at": self.now, "timeline": "{}", "canvas": None, "instance": "x",
                "template": "x",
            }
        )  # fmt: skip

    def look(self) -> list[Shown]:
        newest = sorted(self._rows, key=lambda row: row["created_at"], reverse=True)[:_WINDOW]
        return [Shown(self._row(row), _GRACE) for row in newest]

    def _row(self, row: dict[str, Any]) -> ProjectionRow:
        after = [each for each in self._rows if each["predecessor_id"] == row["id"]]
        newest = max(after, key=lambda each: each["created_at"], default=None)
        return ProjectionRow(**row, read_at=self.now, superseded_by=None if newest is None else newest["id"])


@given(before=_STEPS, meanwhile=_STEPS, picks=_PICKS, quiet=st.integers(0, 400), away=st.integers(0, 400))
def test_a_reader_that_comes_back_knows_everything_or_begins_anew(
    before: list[tuple[str, int]], meanwhile: list[tuple[str, int]], picks: list[int], quiet: int, away: int
) -> None:
    project = _Project()
    for step, pick in zip(before, picks, strict=False):
        project.take(step, pick)
    project.now += timedelta(seconds=quiet)
    known = {each.projection.id: each.text for each in project.look()}
    position = Position.parsed(str(Position.of(project.now, known)))
    for step, pick in zip(meanwhile, picks[len(before) :], strict=False):
        project.take(step, pick)
    project.now += timedelta(seconds=away)
    present = project.look()
    told = missed(position, present, project.now)
    if told is not None:
        known |= {each.projection.id: each.text for each in told}
        assert known == {each.projection.id: each.text for each in present}


@given(st.text(max_size=40))
def test_an_id_that_is_not_ours_leads_nowhere(text: str) -> None:
    parsed = Position.parsed(text)
    assert parsed is None or missed(parsed, _Project().look(), _START) in ([], None)
