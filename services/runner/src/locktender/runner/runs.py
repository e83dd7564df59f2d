"""From a hint to an outcome: claim, keep the lease, carry out, and tell how it ended."""

import json
import random
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from functools import partial
from uuid import UUID

import structlog

from locktender.contracts.deployments.flow import TaskStatus
from locktender.contracts.deployments.models import FailureReason
from locktender.contracts.kernel.backoff import Backoff
from locktender.contracts.kernel.clock import Clock
from locktender.contracts.kernel.errors import LocktenderError, Rejected, Unavailable
from locktender.contracts.kernel.faults import FaultPoints
from locktender.contracts.kernel.lease import Owner
from locktender.integrations.kube.errors import KubeError
from locktender.integrations.kube.explain import explain, hint_of
from locktender.runner.credentials import Custody, NoCredentials, fetch_credentials, secret_values
from locktender.runner.executors.registry import Executors
from locktender.runner.executors.run import Superseded
from locktender.runner.fenced import FencedRow
from locktender.runner.handle import LeasedHandle
from locktender.runner.live import LiveRun, LiveRuns
from locktender.runner.parked import asked_before, work_of
from locktender.runner.settings import RunnerSettings
from locktender.runtime.abort import Abort, Aborted, AbortReason
from locktender.runtime.bus import Bus
from locktender.runtime.hint import Hint
from locktender.runtime.lease_keeper import LeaseKeeper
from locktender.runtime.worker import Run
from locktender.storage.deployments.reads import DeploymentReads
from locktender.storage.deployments.writes import Claimed, DeploymentWrites
from locktender.storage.kernel.database import OutcomeUnknown

_log = structlog.stdlib.get_logger(__name__)

_PAUSE = Backoff(first=0.1, ceiling=2.0)
_TAKEN_TRIES = 10
_TRACE_HEADERS = ("traceparent", "tracestate")


class Runs:
    """Claims tasks and carries them out.

    Guaranteed for every claimed task: its lease is kept until the outcome is written or the run is superseded; a run
    that ends in any way at all tells an outcome, as far as the lease and the database allow; losing the lease, or the
    race for the outcome, is silent.
    """

    def __init__(
        self,
        writes: DeploymentWrites,
        reads: DeploymentReads,
        *,
        owner: Owner,
        executors: Executors,
        custody: Custody,
        keeper: LeaseKeeper,
        live: LiveRuns,
        bus: Bus,
        settings: RunnerSettings,
        clock: Clock,
        faults: FaultPoints,
    ) -> None:
        self._writes = writes
        self._reads = reads
        self._owner = owner
        self._executors = executors
        self._custody = custody
        self._keeper = keeper
        self._live = live
        self._bus = bus
        self._ttl = settings.lease_ttl_seconds
        self._custody_seconds = settings.custody_seconds
        self._clock = clock
        self._faults = faults

    async def claim(self, hints: Sequence[Hint]) -> Sequence[Run]:
        """Take every task among the hints that is queued, or parked with its inputs submitted.

        What is not taken needs no one.

        Raises:
            Unavailable: the database did not answer.
        """
        await self._faults.reach("runner.before-claim")
        since = self._clock.monotonic()
        ids = [hint.id for hint in hints]
        try:
            claimed = await self._writes.claim(ids, self._owner, self._ttl)
        except OutcomeUnknown:
            claimed = await self._taken(ids, since)
        await self._faults.reach("runner.after-claim")
        if claimed:
            self._wrote()
        headers = {hint.id: hint.headers for hint in hints}
        return [self._begun(each, since, headers[each.lease.row_id]) for each in claimed]

    async def _taken(self, ids: Sequence[UUID], since: float) -> list[Claimed]:
        """What a claim took whose answer was lost. Without this, the tasks would wait for their lease to run out."""
        for attempt in range(1, _TAKEN_TRIES):
            await self._clock.sleep(_PAUSE.delay(attempt, random.random()))  # noqa: S311 - spreads load
            with suppress(Unavailable):
                return await self._writes.claimed(ids, self._owner, self._clock.monotonic() - since)
        raise Unavailable("the database does not answer, so what was claimed is not known")

    def _begun(self, claimed: Claimed, since: float, headers: Mapping[str, str]) -> Run:
        signal = Abort()
        row = FencedRow(
            claimed.lease, claimed.workspace, self._reads, signal=signal, clock=self._clock, wrote=self._wrote
        )
        handle = LeasedHandle(
            row,
            self._writes,
            signal,
            timeline=claimed.timeline,
            trace=_trace(headers),
            overdue=partial(self._keeper.overdue, claimed.lease),
            faults=self._faults,
        )
        run = LiveRun(claimed, self._executors.get(claimed.runner), signal, handle, since)
        self._live.add(run)
        return partial(self._carry_out, run)

    async def _carry_out(self, run: LiveRun) -> None:
        try:
            with ExitStack() as stack:
                if run.kind is None or run.kind.kept:
                    stack.enter_context(self._keeper.keep(run.lease, run.signal, since=run.since))
                await self._until_told(run)
        finally:
            run.handle.close()
            self._live.remove(run)

    async def _until_told(self, run: LiveRun) -> None:
        """Carry out the run, and turn whatever comes of it into an outcome."""
        try:
            error = await self._performed(run)
            if run.handle.outcome is None:
                await self._tell(run, error)
            what = "run parked" if run.handle.outcome is TaskStatus.BLOCKED else "run ended"
            _log.debug(what, task=str(run.lease.row_id), epoch=run.lease.epoch, outcome=run.handle.outcome)
        except Superseded:
            _log.info("a run was superseded", task=str(run.lease.row_id), epoch=run.lease.epoch)
        except LocktenderError as error:
            # The lease runs out, and the reaper tells what is true.
            _log.error(
                "the outcome of a run cannot be recorded",
                task=str(run.lease.row_id), epoch=run.lease.epoch, reason=str(error),
            )  # fmt: skip

    async def _performed(self, run: LiveRun) -> Exception | None:
        """What the executor raised, if it did."""
        try:
            async with run.signal.scope():
                await self._perform(run)
        except Exception as error:  # noqa: BLE001 - every error becomes an outcome
            return error
        return None

    async def _perform(self, run: LiveRun) -> None:
        if run.kind is None:
            raise LocktenderError(f"this runner cannot carry out tasks of kind {run.claimed.runner}")
        claimed, credentials = run.claimed, None
        if run.kind.credentials:
            credentials = await fetch_credentials(self._custody, claimed, self._custody_seconds)
            run.handle.withhold(secret_values(credentials))
        work = work_of(claimed, credentials)
        await run.kind.executor.run(run.handle, work)

    async def _tell(self, run: LiveRun, error: Exception | None) -> None:
        handle, stage = run.handle, run.handle.phase
        match error:
            case Superseded():
                raise error
            case Aborted():
                await self._tell_abort(run, run.signal.reason or error.reason)
            case NoCredentials() if (asked := asked_before(run.claimed)) is not None:
                # Nothing was done with the values yet, so nothing is lost by asking for them once more.
                await handle.request_inputs(asked)
            case NoCredentials():
                await handle.fail(FailureReason.CREDENTIALS_LOST, stage, str(error), "never started")
            case KubeError() | Rejected():
                reason, message = explain(error)
                await handle.fail(reason, stage, message, hint_of(error))
            case LocktenderError():
                await handle.fail(FailureReason.RUNNER_ERROR, stage, str(error))
            case None:
                _log.error("an executor returned without an outcome", runner=run.claimed.runner)
                await handle.fail(FailureReason.RUNNER_ERROR, stage, "the runner ended without a result")
            case _:
                _log.error("a run failed unexpectedly", task=str(run.lease.row_id), exc_info=error)
                said = "the runner failed unexpectedly; the operator's log has the details"
                await handle.fail(FailureReason.RUNNER_ERROR, stage, said)

    async def _tell_abort(self, run: LiveRun, reason: AbortReason) -> None:
        handle, stage = run.handle, run.handle.phase
        match reason:
            case AbortReason.SUPERSEDED:
                raise Superseded("the run no longer owns its task")
            case AbortReason.CANCELLED:
                await handle.acknowledge_cancel()
            case AbortReason.SHUTDOWN:
                said = "the runner was shut down; what was applied stays in the cluster"
                await handle.fail(FailureReason.INTERRUPTED, stage, said, "shutdown")
            case AbortReason.OVERRUN:
                await handle.fail(FailureReason.TIMEOUT, stage, "the run took longer than it may")

    def _wrote(self) -> None:
        self._bus.poke("outbox")


def _trace(headers: Mapping[str, str]) -> str:
    found = {name: headers[name] for name in _TRACE_HEADERS if name in headers}
    return json.dumps(found) if found else "{}"
