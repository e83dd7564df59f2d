"""One remote runner at work: ask, take over, carry out, and again."""

import asyncio
import random
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from uuid import UUID

import structlog

from locktender.cli.exits import CommandError, Exit
from locktender.cli.remote.group_client import GroupClient
from locktender.contracts.kernel.backoff import Backoff
from locktender.contracts.kernel.clock import Clock
from locktender.contracts.kernel.errors import Unavailable
from locktender.contracts.stacks.remote import PollRuns
from locktender.contracts.stacks.wire import Accepted, Offer
from locktender.integrations.runs.carrying import Carried, Carrier, Ending
from locktender.runtime.race import pause
from locktender.runtime.runs.keys import RunKey
from locktender.runtime.runs.port import HttpRunPort, open_port
from locktender.runtime.runs.terms import NORMAL, PortTerms
from locktender.runtime.stop import Stop

_log = structlog.stdlib.get_logger(__name__)

_POLL_SECONDS = 2.0
_AWAY = Backoff(first=1.0, ceiling=30.0)
_PATIENCE_ONCE = 10
"""So many times in a row the API may be away for a runner that is wanted for one run."""

_EXITS: Mapping[Ending, Exit] = {
    Ending.SUCCESS: Exit.OK,
    Ending.FAILURE: Exit.FAILED,
    Ending.CANCELLED: Exit.FAILED,
    Ending.LOST: Exit.FAILED,
    Ending.UNTOLD: Exit.FAILED,
}


@dataclass(frozen=True, slots=True)
class Agent:
    """Carries out one run after the other, until it is stopped.

    A stop lets the tool of the run that is under way come to an end in good order, and tells how it ended. Where the
    API is away the runner waits for it; a run under way goes on for as long as its lease can be kept.

    Attributes:
        once: end after one run.
    """

    client: GroupClient
    carrier: Carrier
    asked: PollRuns
    key: RunKey
    stop: Stop
    clock: Clock
    once: bool
    terms: PortTerms = NORMAL
    poll_seconds: float = _POLL_SECONDS

    async def work(self) -> Exit:
        """Work until the stop, or for one run.

        Raises:
            CommandError: the API does not know this runner's group, or is away for too long for one run.
        """
        _log.info("waiting for runs", runner=self.asked.name, labels=list(self.asked.labels))
        failures = 0
        while not self.stop.requested:
            try:
                offer = await self.client.poll(self.asked)
                ending = None if offer is None else await self._take(offer)
            except Unavailable as error:
                failures += 1
                if self.once and failures >= _PATIENCE_ONCE:
                    raise CommandError(Exit.UNAVAILABLE, str(error)) from error
                _log.warning("the API is away, trying again", reason=str(error))
                await pause(_AWAY.delay(failures, random.random()), clock=self.clock, stop=self.stop)  # noqa: S311 - spreads load
                continue
            failures = 0
            if ending is not None and self.once:
                return _EXITS[ending]
            if ending is None:
                spread = random.uniform(0.75, 1.25)  # noqa: S311 - spreads load
                await pause(self.poll_seconds * spread, clock=self.clock, stop=self.stop)
        _log.info("stopped")
        return Exit.OK

    async def _take(self, offer: Offer) -> Ending | None:
        """Carry out what is offered; None: it came to nothing, and the runner goes on asking."""
        reason = self._unfit()
        if reason is not None:
            known = await self.client.cannot_start(offer.runner_id, reason)
            _log.error("a run cannot be started here", run=str(offer.run_id), reason=reason, told=known)
            return Ending.FAILURE
        since = self.clock.monotonic()
        accepted = await self.client.accept(offer)
        if accepted is None:
            _log.warning("a run was promised and then given to another", run=str(offer.run_id))
            return None
        _log.info("a run was taken over", run=str(accepted.run_id), epoch=accepted.epoch)
        carried = await self._carry_out(accepted, since)
        _told(accepted.run_id, carried)
        return carried.ending

    async def _carry_out(self, accepted: Accepted, since: float) -> Carried:
        async with open_port(
            self.client.http, accepted.run_id, accepted.token, key=self.key, clock=self.clock, terms=self.terms,
            renews=accepted.ttl_seconds, since=since,
        ) as port, asyncio.TaskGroup() as group:  # fmt: skip
            stopping = group.create_task(self._interrupted(port))
            carried = await self.carrier.carry_out(port)
            stopping.cancel()
        return carried

    async def _interrupted(self, port: HttpRunPort) -> None:
        await self.stop.wait()
        port.interrupt()

    def _unfit(self) -> str | None:
        """Why this machine cannot carry out a run at this moment."""
        try:
            with tempfile.TemporaryDirectory(dir=self.carrier.means.work_root):
                return None
        except OSError as error:
            return f"the runner cannot write to its work directory ({error.strerror or 'unknown'})"


def _told(run_id: UUID, carried: Carried) -> None:
    facts = {"run": str(run_id), "ending": carried.ending.value, "reason": carried.reason}
    if carried.fault is not None:
        _log.error("a run failed unexpectedly", exc_info=carried.fault, **facts)
    elif carried.ending is Ending.UNTOLD:
        _log.error("the end of a run cannot be told; its lease runs out", **facts)
    else:
        _log.info("a run ended", **facts)
