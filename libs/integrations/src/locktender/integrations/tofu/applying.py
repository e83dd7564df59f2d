"""Runs that change the world: apply exactly what was confirmed, or run a script."""

import asyncio
from pathlib import Path

from locktender.contracts.kernel.errors import LocktenderError
from locktender.contracts.stacks.wire import ANALYSIS, PLAN_FILE, Binding, Done, Outcome
from locktender.integrations.tofu import arguments
from locktender.integrations.tofu.analysis import analyse_state
from locktender.integrations.tofu.bench import Bench
from locktender.integrations.tofu.failures import (
    ArtifactUnavailable,
    CommandFailed,
    Halted,
    PlanMismatch,
    ProcessesLeft,
    SourceUnusable,
    TofuError,
)
from locktender.integrations.tofu.planning import commit_of, digest_of, encoded

_PRIVATE = 0o600


async def _fetch_plan(bench: Bench, binding: Binding) -> None:
    """Put the plan file in place, if it and its surroundings are what was confirmed."""
    try:
        planned = await bench.halt.unless_stopped(bench.port.get_artifact(PLAN_FILE))
    except Halted:
        raise
    except LocktenderError as fault:
        raise ArtifactUnavailable("the plan") from fault
    found = {
        "the plan file": (digest_of(planned), binding.plan_digest),
        "the commit": (commit_of(bench.context), binding.commit),
        "the set of variables": (bench.context.variables_digest, binding.variables_digest),
        "the engine of the runner": (bench.engine.tool, binding.tool),
        "the engine's version on the runner": (bench.engine.version, binding.tool_version),
    }
    for what, (now, then) in found.items():
        if now != then:
            raise PlanMismatch(what)
    await asyncio.to_thread(_write_private, bench.place.plan_file, planned)


async def apply(bench: Bench) -> Done:
    """Apply exactly what was confirmed, then describe the state, also after a failure.

    Raises:
        PlanMismatch: the plan, the source, the variables or the engine differ, and nothing was started; or the state
            is not the one that was planned with, and nothing was applied.
        ArtifactUnavailable: the plan cannot be fetched; nothing was started.
        BackendBypassed: nothing was applied.
        CommandFailed: the engine failed. What it has changed by then is in the state.
    """
    binding = bench.context.binding
    if binding is None:
        raise PlanMismatch("the plan")
    await _fetch_plan(bench, binding)
    await bench.start()
    stamp = await bench.state_stamp()
    if (stamp.lineage, stamp.serial) != (binding.state_lineage, binding.state_serial):
        raise PlanMismatch("the state")
    argv = arguments.apply(bench.engine, str(bench.place.plan_file))
    code = await bench.streamed(argv)
    await _describe_state(bench)
    if code != 0:
        raise CommandFailed(bench.named(argv), code)
    return Done(outcome=Outcome.SUCCESS, exit_code=code)


async def run_script(bench: Bench) -> Done:
    """Run the user's script in the directory of the configuration. The log shows its trace, not its text.

    The script is a file that only the user of the runner can read, outside of the checkout: what is in the arguments
    of a process, everybody on the machine can read.

    Raises:
        SourceUnusable: the run has no script.
        CommandFailed: it did not end with exit code 0.
    """
    script = bench.secrets.script
    if script is None:
        raise SourceUnusable("the run has no script; create it again")
    await bench.start()
    await asyncio.to_thread(_write_private, bench.place.script_file, script.get_secret_value().encode())
    argv = arguments.raw(bench.means.shell, str(bench.place.script_file))
    code = await bench.streamed(argv, shown=[*argv[:-1], "script"], whole_group=True)
    # A script that was asked to stop may well end with 0, and has not done what it was for.
    if code != 0 or bench.halt.stopping.is_set():
        raise CommandFailed("the script", code)
    return Done(outcome=Outcome.SUCCESS, exit_code=code)


async def _describe_state(bench: Bench) -> None:
    """Best effort: what an apply did is in the state, whether or not it can be shown."""
    try:
        document = await bench.document(arguments.show_state(bench.engine))
        analysis = await bench.halt.unless_stopped(
            asyncio.to_thread(analyse_state, document, secrets=bench.secrets.values())
        )
        await bench.halt.unless_stopped(bench.port.put_artifact(ANALYSIS, encoded(analysis)))
    except Halted:
        return
    except ProcessesLeft:
        raise
    except (TofuError, LocktenderError, ValueError):
        await bench.log.line("The state could not be described; the next plan will describe it.")


def _write_private(path: Path, data: bytes) -> None:
    path.touch(mode=_PRIVATE)
    path.write_bytes(data)
