"""One run from its context to its report, in a workplace of its own."""

import asyncio
from pathlib import Path
from typing import assert_never

from pydantic import SecretStr

from locktender.contracts.kernel.errors import LocktenderError
from locktender.contracts.stacks.vocabulary import CancellationReason, RunFailureReason, RunMode
from locktender.contracts.stacks.wire import Done, LeaseGone, Outcome, RunContext, RunFailure, RunPort, RunSecrets
from locktender.integrations.tofu.applying import apply, run_script
from locktender.integrations.tofu.bench import Bench, ExecutionMeans
from locktender.integrations.tofu.configure import StateAccess, base_environment, environment_of, write_tokens
from locktender.integrations.tofu.engine import Engine, find_engine
from locktender.integrations.tofu.failures import CommandFailed, Halted, ProcessesLeft, SourceUnusable, TofuError
from locktender.integrations.tofu.halting import Halt, HaltReason, watch
from locktender.integrations.tofu.leftovers import Mark, kill_all
from locktender.integrations.tofu.planning import plan
from locktender.integrations.tofu.run_log import RunLog
from locktender.integrations.tofu.workplace import Workplace, workplace

_LONGEST_MESSAGE = 2000


async def execute(
    context: RunContext, secrets: RunSecrets, port: RunPort, means: ExecutionMeans, *, token: SecretStr
) -> Done:
    """Do what a run is for, and say how it went. Reporting it (`port.done`) is left to the caller.

    Guaranteed: when this returns or raises, no process of the run is alive, its directory is gone, and nothing secret
    was logged. What was asked to stop (a cancel, or the deadline) gets `context.grace_seconds`, then it is killed. A
    lost lease kills at once. An apply that succeeded all the same is reported as a success; whether the run is one is
    the API's decision. `token` is the run token, for the state backend.

    Raises:
        LeaseGone: the run is not ours any more; nothing may be reported.
        ProcessesLeft: something of the run does not die, so that nobody may say that the run has ended.
    """
    mark = Mark(str(context.run_id), context.epoch)
    halt = Halt()
    log = RunLog(port, means.scrub([*secrets.values(), token.get_secret_value()]))
    try:
        async with asyncio.TaskGroup() as group:
            watching = group.create_task(
                watch(
                    halt,
                    port,
                    means.clock,
                    deadline_seconds=context.deadline_seconds,
                    grace_seconds=context.grace_seconds,
                )
            )
            done = await _reported(context, secrets, port, means, token, mark, halt, log)
            watching.cancel()
    except BaseExceptionGroup as several:
        raise _weightiest(several) from several
    finally:
        # Commands prove it one by one; this proves it of the run, whatever happened between them.
        await kill_all(mark)
    return done


async def _reported(
    context: RunContext,
    secrets: RunSecrets,
    port: RunPort,
    means: ExecutionMeans,
    token: SecretStr,
    mark: Mark,
    halt: Halt,
    log: RunLog,
) -> Done:
    engine: Engine | None = None
    try:
        async with workplace(means.work_root, mark) as place:
            access = StateAccess(user=str(context.run_id), password=token)
            environment = environment_of(context, secrets, access, means.engines, place)
            write_tokens(secrets, place)
            engine = await _engine(context, means, place, mark, halt)
            directory = await _checked_out(context, secrets, means, place, halt)
            bench = Bench(context, secrets, port, means, mark, halt, log, place, directory, engine, environment)
            done = await _worked(bench)
    except ProcessesLeft:
        raise
    except (TofuError, OSError) as fault:
        done = _ended(fault, halt)
    await log.line(_last_words(done))
    named = {"tool": engine.tool, "tool_version": engine.version} if engine else {}
    return done.model_copy(update=named)


async def _worked(bench: Bench) -> Done:
    match bench.context.mode:
        case RunMode.PLAN | RunMode.DESTROY | RunMode.REFRESH:
            return await plan(bench)
        case RunMode.APPLY:
            return await apply(bench)
        case RunMode.RAW:
            return await run_script(bench)
        case _:
            assert_never(bench.context.mode)


async def _engine(context: RunContext, means: ExecutionMeans, place: Workplace, mark: Mark, halt: Halt) -> Engine:
    return await halt.unless_stopped(
        find_engine(
            context.engine,
            search_path=means.engines.search_path,
            directory=place.temporary,
            environment=base_environment(means.engines, place),
            mark=mark,
        )
    )


async def _checked_out(
    context: RunContext, secrets: RunSecrets, means: ExecutionMeans, place: Workplace, halt: Halt
) -> Path:
    """The directory of the configuration, which lies inside the checkout whatever links the checkout holds."""
    try:
        await halt.unless_stopped(means.check_out(context, secrets, place.source))
    except TofuError:
        raise
    except LocktenderError as fault:
        raise SourceUnusable(str(fault)) from fault
    source = place.source.resolve()
    directory = (source / context.checkout.path).resolve()
    if not directory.is_relative_to(source) or not directory.is_dir():
        raise SourceUnusable("the source has no such directory; check the path of the stack")
    return directory


def _ended(fault: TofuError | OSError, halt: Halt) -> Done:
    code = fault.code if isinstance(fault, CommandFailed) else None
    if isinstance(fault, Halted) or (halt.reason is not None and code is not None):
        reason = CancellationReason.RUN_DEADLINE if halt.reason is HaltReason.DEADLINE else None
        return Done(outcome=Outcome.CANCELLED, cancellation_reason=reason, exit_code=code)
    if isinstance(fault, OSError):
        # Its text holds a path of the runner's machine.
        message = f"the runner could not work in its own directory ({fault.strerror or 'unknown'}); look at its disk"
        return Done(outcome=Outcome.FAILURE, failure=RunFailure(reason=RunFailureReason.INTERNAL, message=message))
    failure = RunFailure(reason=fault.reason, message=str(fault)[:_LONGEST_MESSAGE])
    return Done(outcome=Outcome.FAILURE, failure=failure, exit_code=code)


def _last_words(done: Done) -> str:
    match done.outcome:
        case Outcome.SUCCESS:
            return "Done."
        case Outcome.CANCELLED:
            late = done.cancellation_reason is CancellationReason.RUN_DEADLINE
            return "Stopped: the run took longer than it may." if late else "Stopped, as asked for."
        case Outcome.FAILURE:
            return f"Failed: {done.failure.message if done.failure else 'for an unknown reason'}."
        case _:
            assert_never(done.outcome)


def _weightiest(several: BaseExceptionGroup[BaseException]) -> BaseException:
    """The one that decides: processes that are left, then a lost lease, then whatever else it was."""
    leaves: list[BaseException] = []
    pending: list[BaseException] = [several]
    while pending:
        fault = pending.pop()
        if isinstance(fault, BaseExceptionGroup):
            pending += fault.exceptions  # pyright: ignore[reportUnknownMemberType, reportUnknownArgumentType]  # the type of a group is erased at run time
        else:
            leaves.append(fault)
    for kind in (ProcessesLeft, LeaseGone):
        if found := next((each for each in leaves if isinstance(each, kind)), None):
            return found
    return leaves[0]
