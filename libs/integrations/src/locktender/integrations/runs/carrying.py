"""A run that was taken over, from its context to the report of its end."""

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Protocol

from pydantic import SecretStr

from locktender.contracts.kernel.errors import LocktenderError
from locktender.contracts.stacks.vocabulary import RunFailureReason, RunMode
from locktender.contracts.stacks.wire import Done, LeaseGone, Outcome, RunContext, RunFailure, RunPort, RunSecrets
from locktender.integrations.runs.checkout import CheckedOut, SourceTerms
from locktender.integrations.tofu.bench import ExecutionMeans
from locktender.integrations.tofu.execution import execute
from locktender.integrations.tofu.failures import ProcessesLeft


class CarriedPort(RunPort, Protocol):
    """The port of a run that also gives out what the run needs."""

    @property
    def token(self) -> SecretStr:
        """The run token."""
        ...

    @property
    def interrupted(self) -> bool:
        """Whether the tool was to be stopped because the runner ends, and nobody had asked for a cancel."""
        ...

    async def context(self) -> tuple[RunContext, RunSecrets]:
        """What the run needs. Raises `LeaseGone`, or a `LocktenderError`."""
        ...


class Ending(StrEnum):
    """How a runner is done with a run."""

    SUCCESS = "success"
    FAILURE = "failure"
    CANCELLED = "cancelled"
    LOST = "lost"
    """The run is somebody else's, or over. Nothing was reported."""
    UNTOLD = "untold"
    """The end could not be reported, or must not be: what the run did is not known for sure. Its lease runs out."""


@dataclass(frozen=True, slots=True)
class Carried:
    """What became of a run, and what the operator has to know about it.

    Attributes:
        reason: why it did not start, or why nothing was reported. Free of secrets.
        fault: an error that nobody foresaw.
    """

    ending: Ending
    reason: str | None = None
    fault: Exception | None = None


@dataclass(frozen=True, slots=True)
class _End:
    """What is to be reported; None: nothing may be."""

    done: Done | None
    reason: str | None = None
    fault: Exception | None = None


@dataclass(frozen=True, slots=True)
class Carrier:
    """Carries out runs.

    Attributes:
        means: what a runner has for them; how a source is checked out is put in for each run.
        sources: which sources are taken.
    """

    means: ExecutionMeans
    sources: SourceTerms

    async def carry_out(self, port: CarriedPort) -> Carried:
        """Execute the run of `port` and report how it went.

        Guaranteed: no process of the run is alive when this returns, or it says `UNTOLD`. A run that may have changed
        the world is reported only where its end was seen: a lost apply is never called a failed one.

        Raises:
            asyncio.CancelledError: it was cut off. Everything of the run was killed, and nothing reported.
        """
        try:
            end = await self._end(port)
            if end.done is None:
                return Carried(Ending.UNTOLD, end.reason, end.fault)
            await port.done(end.done)
        except LeaseGone:
            return Carried(Ending.LOST)
        except LocktenderError as error:
            return Carried(Ending.UNTOLD, str(error))
        return Carried(Ending(end.done.outcome), end.reason, end.fault)

    async def _end(self, port: CarriedPort) -> _End:
        try:
            context, secrets = await port.context()
        except LocktenderError as error:
            reason = f"the runner could not get what the run needs ({error}); nothing was started"
            return _End(_failed(reason), reason)
        source = CheckedOut(port, self.sources)
        means = replace(self.means, check_out=source)
        try:
            done = await execute(context, secrets, port, means, token=port.token)
        except LeaseGone:
            raise
        except ProcessesLeft as error:
            return _End(None, str(error))
        except Exception as error:  # noqa: BLE001 - what it is goes to the operator, and the run must have an end
            reason = "the runner failed unexpectedly; its log has the details"
            return _End(None if context.mode.mutates else _failed(reason), reason, error)
        return _interrupted(done, context.mode) if port.interrupted else _End(done, fault=source.fault)


def _interrupted(done: Done, mode: RunMode) -> _End:
    """What became of a run whose runner was shut down. What came to its end all the same is what it is."""
    if done.outcome is not Outcome.CANCELLED or done.cancellation_reason is not None:
        return _End(done)
    if mode.mutates and done.exit_code is not None and done.exit_code < 0:
        # The tool was killed with its work unrecorded: only the expiry of the lease says that truthfully.
        return _End(None, "the runner was shut down, and the tool had to be killed")
    said = "the runner was shut down, and stopped the tool; "
    if not mode.mutates or done.exit_code is None:
        said += "nothing was changed, so start it again"
    else:
        said += "what it had done by then is in the state, so plan again"
    named = {"exit_code": done.exit_code, "tool": done.tool, "tool_version": done.tool_version}
    return _End(_failed(said).model_copy(update=named), said)


def _failed(message: str) -> Done:
    failure = RunFailure(reason=RunFailureReason.INTERNAL, message=message[:2000])
    return Done(outcome=Outcome.FAILURE, failure=failure)
