"""The use cases that show what runs found out."""

from collections.abc import Callable, Sequence
from typing import TypeVar
from uuid import UUID

from locktender.api.http.problems import ProblemError
from locktender.api.stacks.inventory.analyses import Analyses, AnalysisPlace
from locktender.api.stacks.inventory.told import Inventory, Piece, Section, Told, array
from locktender.api.stacks.reading.stages import numbers_of
from locktender.api.stacks.removed import check_kept
from locktender.contracts.kernel.errors import NotFound
from locktender.contracts.kernel.problems import Problem
from locktender.contracts.stacks.analysis import PlanSummary
from locktender.contracts.stacks.inventory import FoundBy, Knowledge, StateKnowledge
from locktender.contracts.stacks.vocabulary import RunMode
from locktender.contracts.stacks.wire import Binding
from locktender.storage.kernel.database import Database, Row
from locktender.storage.stacks.inventory import told_graph, told_run, told_state

T = TypeVar("T")

_NOBODY = "no run has told it yet; the next plan, refresh or apply will"
_LOST = "the runs that looked last have left nothing that can be read; the next plan or refresh will tell it"
_NO_GRAPH = "no plan of the stack's own source has told it yet; the next one will"
_UNCERTAIN = "an apply was lost since: what it did is unknown until a refresh has looked"
_WRITTEN = "the state was written since; the next plan or refresh will tell what it holds"


class InventoryQueries:
    """What stacks are made of, as the newest run that told it found it; and what a single run told."""

    def __init__(self, database: Database, analyses: Analyses) -> None:
        self._database = database
        self._analyses = analyses

    async def resources(self, workspace: str, stack: str, addresses: Sequence[str] = ()) -> bytes:
        """The inventory as JSON of `StackResources`: all of it without values, or the resources at `addresses` whole.

        Raises:
            NotFound: this workspace has no such stack.
            Unavailable: the record or the object store does not answer.
        """
        known, inventory = await self._state(workspace, stack)
        if inventory is None or not addresses:
            return _with(known, "resources", None if inventory is None else inventory.listed)
        wanted = dict.fromkeys(addresses)
        return _with(known, "resources", array([text for each in wanted for text in inventory.whole.get(each, ())]))

    async def outputs(self, workspace: str, stack: str) -> bytes:
        """The outputs as JSON of `StackOutputs`. Raises the same."""
        known, inventory = await self._state(workspace, stack)
        return _with(known, "outputs", None if inventory is None else inventory.outputs)

    async def graph(self, workspace: str, stack: str) -> bytes:
        """The graph of the configuration as JSON of `StackGraph`. Raises the same."""
        rows = await told_graph(self._database, workspace, stack)
        row, piece = await self._newest(rows, lambda told: told.sections.get(Section.RESOURCE_GRAPH))
        if row is None or piece is None:
            return _with(Knowledge(known=False, reason=_NO_GRAPH, source=None), "graph", None)
        return _with(Knowledge(known=True, reason=None, source=_found_by(row)), "graph", piece.body)

    async def section(self, workspace: str, stack: str, number: int, run_id: UUID, section: Section) -> Piece:
        """What a run told. It never changes.

        Raises:
            NotFound: there is no such run.
            ProblemError: it has not told this, so it is unknown; or that was removed.
            Unavailable: the record or the object store does not answer.
        """
        row = await self._run(workspace, stack, number, run_id)
        check_kept(row, "what the run found out")
        told = await self._analyses.of(_place(row, row["id"])) if row["analysed"] else None
        piece = None if told is None else told.sections.get(section)
        if piece is None:
            raise _untold()
        return piece

    async def summary(self, workspace: str, stack: str, number: int, run_id: UUID) -> Piece:
        """The plan of a run in numbers, as JSON of `PlanNumbers`; where there is one, its changes are there as well.

        It is kept for ever. Raises the same as `section`.
        """
        row = await self._run(workspace, stack, number, run_id)
        if not row["analysed"] or row["summary"] is None:
            raise _untold()
        numbers = numbers_of(PlanSummary.model_validate_json(row["summary"]))
        return Piece.of(numbers.model_dump_json(by_alias=True).encode())

    async def _state(self, workspace: str, stack: str) -> tuple[StateKnowledge, Inventory | None]:
        rows = await told_state(self._database, workspace, stack)
        row, inventory = await self._newest(rows, lambda told: told.inventory)
        if row is None or inventory is None:
            reason = _NOBODY if rows[0]["run_id"] is None else _LOST
            return StateKnowledge(known=False, reason=reason, source=None, outdated=None), None
        found_by, outdated = _found_by(row), _outdated(row)
        return StateKnowledge(known=True, reason=None, source=found_by, outdated=outdated), inventory

    async def _newest(self, rows: Sequence[Row], part: Callable[[Told], T | None]) -> tuple[Row | None, T | None]:
        """The first run that told this part. One that did not says nothing, and is passed over."""
        if not rows:
            raise NotFound("stack", "of this name")
        for row in rows:
            if row["run_id"] is not None:
                told = await self._analyses.of(_place(row, row["run_id"]))
                found = None if told is None else part(told)
                if found is not None:
                    return row, found
        return None, None

    async def _run(self, workspace: str, stack: str, number: int, run_id: UUID) -> Row:
        row = await told_run(self._database, workspace, stack, number, run_id)
        if row is None:
            raise NotFound("run", "of this deployment")
        return row


def _untold() -> ProblemError:
    return ProblemError(Problem.NOT_FOUND, "this run has not told it, or it is not kept any more: unknown, not empty")


def _place(row: Row, run_id: UUID) -> AnalysisPlace:
    return AnalysisPlace(row["workspace"], row["stack_id"], run_id)


def _found_by(row: Row) -> FoundBy:
    return FoundBy(
        run_id=row["run_id"], run_mode=row["run_mode"], deployment_number=row["number"], commit=row["commit_sha"],
        completed_at=row["completed_at"],
    )  # fmt: skip


def _outdated(row: Row) -> str | None:
    """Why the state may be another one by now. Times alone would miss a state that was pushed during a plan."""
    if row["uncertain_since"] is not None and row["uncertain_since"] >= row["completed_at"]:
        return _UNCERTAIN
    if RunMode(row["run_mode"]).is_plan_style and row["binding"] is not None:
        saw = Binding.model_validate_json(row["binding"])
        return (
            None if (saw.state_lineage, saw.state_serial) == (row["state_lineage"], row["state_serial"]) else _WRITTEN
        )
    written = row["state_written_at"]
    return _WRITTEN if written is not None and written > row["completed_at"] else None


def _with(known: Knowledge, member: str, value: bytes | None) -> bytes:
    """The JSON of an answer: what is known of `value`, and `value`, which is JSON already."""
    head = known.model_dump_json(by_alias=True).encode()
    return head[:-1] + f',"{member}":'.encode() + (b"null" if value is None else value) + b"}"
