"""What runs leave behind for each other and for people: plan files, analyses, sources."""

import json
from typing import Any, cast
from uuid import UUID

from locktender.api.http.problems import ProblemError
from locktender.api.stacks.runs.gate import HeldRun
from locktender.contracts.kernel.errors import LeaseLost, NotFound
from locktender.contracts.kernel.problems import Problem
from locktender.contracts.stacks.vocabulary import RunMode
from locktender.contracts.stacks.wire import ANALYSIS, PLAN_FILE, PLAN_SUMMARY
from locktender.integrations.objects.errors import ObjectExists
from locktender.integrations.objects.places import Family, RunPlace, source_place
from locktender.integrations.objects.store import ObjectStore
from locktender.storage.kernel.database import Database
from locktender.storage.stacks.run_context import context_of, mark_analysed


class Artifacts:
    """Artifacts in the object store. Each is written once; whoever reads one reads what its own run may see."""

    def __init__(self, *, database: Database, store: ObjectStore) -> None:
        self._database = database
        self._store = store

    async def put(self, run: HeldRun, name: str, data: bytes) -> None:
        """Keep an artifact. The same bytes again are fine.

        Raises:
            NotFound: there is no such artifact.
            ProblemError: this run makes no such artifact, or other bytes are kept under this name.
            LeaseLost: the run ended meanwhile.
        """
        match name:
            case "plan.tfplan":
                if not run.mode.is_plan_style:
                    raise ProblemError(Problem.FORBIDDEN, f"a run that does {run.mode} makes no plan")
                await self._keep(_work_key(run, run.id), data)
            case "plan-summary.json":
                await self._keep(_run_key(run, PLAN_SUMMARY), data)
            case "analysis.json":
                await self._keep(_run_key(run, ANALYSIS), data)
                if not await mark_analysed(self._database, run.id, run.claim.token_hash):
                    raise LeaseLost(run.id, run.claim.epoch, run.claim.epoch)
            case "source.tar.gz":
                detail = "sources are uploaded with their deployment, and only read here"
                raise ProblemError(Problem.METHOD_NOT_ALLOWED, detail, headers={"Allow": "GET"})
            case _:
                raise NotFound("artifact", "of this name")

    async def get(self, run: HeldRun, name: str) -> bytes:
        """An artifact that this run takes: its source, the plan that it applies, or what it has put itself.

        Raises:
            NotFound: there is none.
        """
        match name:
            case "plan.tfplan":
                planned = run.row["plan_run_id"] if run.mode is RunMode.APPLY else run.id
                return await self._store.get(_work_key(run, planned))
            case "plan-summary.json" | "analysis.json":
                return await self._store.get(_run_key(run, name))
            case "source.tar.gz":
                return await self._source(run)
            case _:
                raise NotFound("artifact", "of this name")

    async def _source(self, run: HeldRun) -> bytes:
        row = await context_of(self._database, run.id)
        source = cast("dict[str, Any]", json.loads(row["source"])) if row is not None else {}
        if source.get("kind") != "archive":
            raise NotFound("source archive", "of this run")
        return await self._store.get(source_place(run.row["workspace"], run.claim.stack_id, source["sha256"]))

    async def _keep(self, key: str, data: bytes) -> None:
        try:
            await self._store.put(key, data, once=True)
        except ObjectExists:
            detail = "another content is kept under this name already, and stays"
            raise ProblemError(Problem.ALREADY_KEPT, detail) from None


def _work_key(run: HeldRun, planned: UUID) -> str:
    place = RunPlace(run.row["workspace"], run.claim.stack_id, planned)
    return f"{place.folder(Family.WORK)}/{PLAN_FILE}"


def _run_key(run: HeldRun, name: str) -> str:
    place = RunPlace(run.row["workspace"], run.claim.stack_id, run.id)
    return f"{place.folder(Family.RECORD)}/{name}"
