"""Plan-style runs: plan, describe the plan, keep its file, and say what exactly was planned."""

import asyncio
import hashlib

from locktender.contracts.kernel.errors import LocktenderError
from locktender.contracts.stacks.analysis import PlanSummary, RunAnalysis
from locktender.contracts.stacks.wire import (
    ANALYSIS,
    PLAN_FILE,
    PLAN_SUMMARY,
    Binding,
    Done,
    GitCheckout,
    Outcome,
    RunContext,
)
from locktender.integrations.tofu import arguments
from locktender.integrations.tofu.analysis import analyse_plan, failed_summary
from locktender.integrations.tofu.bench import Bench, StateStamp
from locktender.integrations.tofu.failures import CommandFailed, Halted, PlanNotKept, ProcessesLeft, TofuError
from locktender.integrations.tofu.kept_tokens import check_plan

_NO_CHANGES = 0
_CHANGES = 2


async def plan(bench: Bench) -> Done:
    """Plan, and report it.

    The analysis is a best effort, uploaded before its summary so that a summary means that there are changes to look
    at. The plan file is not: a plan with changes whose file is not kept has failed.

    Raises:
        ExcludesUnsupported, UnsafeAddress: nothing was started.
        BackendBypassed: nothing was planned.
        CommandFailed: the engine could not plan.
        PlanNotKept: there are changes, and their plan could not be stored.
        TokenKept: the plan holds an identity token. Nothing of it was stored.
    """
    context = bench.context
    argv = arguments.plan(bench.engine, context.mode, context.narrowing, str(bench.place.plan_file))
    await bench.start()
    # Before the plan: should the state change in between, the plan is stale and no later check takes it for current.
    stamp = await bench.state_stamp()
    code = await bench.streamed(argv)
    if code not in {_NO_CHANGES, _CHANGES}:
        raise CommandFailed(bench.named(argv), code)
    planned = await asyncio.to_thread(bench.place.plan_file.read_bytes)
    await check_plan(bench, planned)
    has_changes = code == _CHANGES
    summary, analysis = await _described(bench, has_changes=has_changes)
    await bench.halt.unless_stopped(_upload_description(bench, summary, analysis))
    if has_changes:
        await bench.halt.unless_stopped(_upload_plan(bench, planned))
    return Done(
        outcome=Outcome.SUCCESS,
        has_changes=has_changes,
        summary=summary,
        binding=_binding(bench, planned, stamp),
        exit_code=code,
    )


def commit_of(context: RunContext) -> str:
    """What pins the source of a run: a commit, or the digest of an archive."""
    checkout = context.checkout
    return checkout.commit if isinstance(checkout, GitCheckout) else checkout.sha256


def digest_of(planned: bytes) -> str:
    """SHA-256 of a plan file, hex."""
    return hashlib.sha256(planned).hexdigest()


async def _described(bench: Bench, *, has_changes: bool) -> tuple[PlanSummary, RunAnalysis | None]:
    narrowed = bench.context.narrowing.narrowed
    try:
        document = await bench.document(arguments.show_plan(bench.engine, str(bench.place.plan_file)))
        return await bench.halt.unless_stopped(
            asyncio.to_thread(
                analyse_plan, document, has_changes=has_changes, narrowed=narrowed, secrets=bench.secrets.values()
            )
        )
    except (Halted, ProcessesLeft):
        raise
    except (TofuError, ValueError):
        await bench.log.line("The plan could not be analysed; the numbers of this plan are incomplete.")
        return failed_summary(has_changes, narrowed), None


async def _upload_description(bench: Bench, summary: PlanSummary, analysis: RunAnalysis | None) -> None:
    if analysis is None:
        return
    try:
        await bench.port.put_artifact(ANALYSIS, encoded(analysis))
        await bench.port.put_artifact(PLAN_SUMMARY, encoded(summary))
    except LocktenderError:
        await bench.log.line("The description of the plan could not be stored completely.")


async def _upload_plan(bench: Bench, planned: bytes) -> None:
    try:
        await bench.port.put_artifact(PLAN_FILE, planned)
    except LocktenderError as fault:
        raise PlanNotKept from fault


def encoded(part: PlanSummary | RunAnalysis) -> bytes:
    """As it is stored."""
    return part.model_dump_json(by_alias=True).encode()


def _binding(bench: Bench, planned: bytes, stamp: StateStamp) -> Binding:
    return Binding(
        plan_digest=digest_of(planned),
        commit=commit_of(bench.context),
        variables_digest=bench.context.variables_digest,
        tool=bench.engine.tool,
        tool_version=bench.engine.version,
        state_lineage=stamp.lineage,
        state_serial=stamp.serial,
    )
