"""The use cases of remote runners: be promised a run, take it over, or say that no runner could be started."""

import hashlib
import hmac
from collections.abc import Mapping
from uuid import UUID

import structlog
from pydantic import SecretStr

from locktender.api.http.problems import ProblemError
from locktender.contracts.kernel.problems import Problem
from locktender.contracts.stacks.patience import StackDeadlines
from locktender.contracts.stacks.remote import DispatchFailed, PollRuns
from locktender.contracts.stacks.wire import Accepted, Offer
from locktender.runtime.bus import Bus
from locktender.runtime.runs.tokens import new_token, token_digest
from locktender.storage.kernel.database import Database, Row, Transaction
from locktender.storage.stacks import remote
from locktender.storage.stacks.assign import AcceptedRun
from locktender.storage.stacks.complete import Ended
from locktender.storage.stacks.refusals import NotAssigned

_log = structlog.stdlib.get_logger(__name__)

_PURPOSE = b"locktender/run-token/1/"


class Offers:
    """Promises and take-overs. Each is decided on the rows, in one transaction."""

    def __init__(self, *, database: Database, bus: Bus, deadlines: StackDeadlines) -> None:
        self._database = database
        self._bus = bus
        self._deadlines = deadlines

    async def poll(self, group: Row, asked: PollRuns) -> Offer | None:
        """A run that is promised to the caller; None: nothing waits for it."""
        assignment = new_token()

        async def work(tx: Transaction) -> remote.Offered | None:
            return await remote.poll(
                tx, group, name=asked.name, labels=asked.labels, assignment_hash=token_digest(assignment),
                assignment_seconds=self._deadlines.assignment,
            )  # fmt: skip

        offered = await self._database.transact(work)
        if offered is None:
            return None
        return Offer(
            run_id=offered.run["id"],
            runner_id=offered.runner["id"],
            assignment=assignment,
            expires_in_seconds=self._deadlines.assignment,
        )

    async def accept(self, run_id: UUID, runner_id: UUID, assignment: str, trace: Mapping[str, str]) -> Accepted:
        """The caller holds the run from here on. The same call again gives the same answer while that is so.

        Raises:
            ProblemError: the run is not, or no longer, promised to the caller.
        """
        token = _token_of(assignment, run_id)

        async def work(tx: Transaction) -> AcceptedRun:
            return await remote.accept_remote(
                tx, run_id, runner_id, assignment_hash=token_digest(assignment), token_hash=token_digest(token),
                ttl=self._deadlines.execution, trace=trace,
            )  # fmt: skip

        try:
            taken = await self._database.transact(work)
        except NotAssigned as error:
            raise ProblemError(Problem.NOT_ASSIGNED, str(error)) from error
        self._bus.poke("outbox")
        return Accepted(run_id=run_id, epoch=taken.lease.epoch, token=token, ttl_seconds=self._deadlines.execution)

    async def dispatch_failed(self, group: Row, told: DispatchFailed, trace: Mapping[str, str]) -> None:
        """The run of a stub fails, and is not offered again.

        Raises:
            ProblemError: the group has no such stub, or its run was taken over.
            NotFound: the group has no such runner.
        """

        async def work(tx: Transaction) -> Ended:
            return await remote.dispatch_failed(tx, group, told.runner_id, told.reason, trace)

        try:
            ended = await self._database.transact(work)
        except NotAssigned as error:
            raise ProblemError(Problem.NOT_ASSIGNED, str(error)) from error
        self._bus.poke("outbox")
        _log.warning("no runner could be started for a run", run=str(ended.run["id"]), group=group["name"])


def _token_of(assignment: str, run_id: UUID) -> SecretStr:
    """The run token that goes with a promise: always the same, so that an answer that was lost can be given again.

    Whoever knows the promise may have it; nobody else can work it out.
    """
    tag = hmac.digest(assignment.encode("utf-8", "surrogatepass"), _PURPOSE + run_id.bytes, hashlib.sha256)
    return SecretStr(tag.hex())
