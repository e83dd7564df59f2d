"""Runs with the real engine, offline, against a real HTTP state backend."""

import asyncio
import hashlib
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from pydantic import SecretStr

from locktender.contracts.kernel.ids import Workspace
from locktender.contracts.stacks.vocabulary import CancellationReason, EngineChoice, RunFailureReason, RunMode
from locktender.contracts.stacks.wire import (
    ANALYSIS,
    PLAN_FILE,
    PLAN_SUMMARY,
    Binding,
    Done,
    GitCheckout,
    LeaseGone,
    Narrowing,
    Outcome,
    RunContext,
    RunSecrets,
)
from locktender.integrations.tofu.bench import ExecutionMeans
from locktender.integrations.tofu.engine import EngineSettings, find_engine
from locktender.integrations.tofu.execution import execute
from locktender.integrations.tofu.leftovers import Mark, processes_of
from locktender.runtime.scrub import Scrubber, ScrubStream
from locktender.testkit.clock import FakeClock
from locktender.testkit.http_state import HttpState, KeptPort, http_state
from locktender.testkit.nats_rig import eventually

TOKEN = "canary-run-token-0123456789"
RUN = uuid4()
DEADLINE = 3600.0

CONFIGURATION = """
terraform {
  backend "local" {}
}
variable "size" {
  type    = object({ w = number, h = number })
  default = { w = 1, h = 1 }
}
variable "password" {
  type      = string
  sensitive = true
  default   = "nothing"
}
resource "terraform_data" "one" {
  input = var.size.w
}
resource "terraform_data" "two" {
  input            = sensitive(var.password)
  triggers_replace = terraform_data.one.id
}
output "width" {
  value = terraform_data.one.output
}
"""

STUBBORN = """
resource "terraform_data" "slow" {
  provisioner "local-exec" {
    interpreter = ["/bin/bash", "-c"]
    command     = <<-EOT
      trap '' TERM INT
      env -i setsid sleep 600 &
      setsid sleep 600 &
      echo provisioning
      sleep 600
    EOT
  }
}
"""


class Rig:
    """A stack whose runs are executed here."""

    def __init__(self, root: Path, state: HttpState) -> None:
        self.root = root
        self.state = state
        self.files = {"main.tf": CONFIGURATION}
        self.port = KeptPort()
        self.clock = FakeClock()
        self.epoch = 0
        self.secrets = RunSecrets()
        self.search_path = os.environ["PATH"]

    def context(self, mode: RunMode, **more: Any) -> RunContext:
        self.epoch += 1
        return RunContext(
            run_id=RUN,
            epoch=self.epoch,
            workspace=Workspace("default"),
            stack_id=uuid4(),
            stack_name="network",
            deployment_id=uuid4(),
            deployment_number=1,
            mode=mode,
            engine=EngineChoice.AUTO,
            checkout=GitCheckout(url="https://example.test/r.git", commit="c" * 40, path=more.pop("path", ".")),
            backend=self.state.backend,
            variables_digest="d" * 64,
            sealed="",
            **{"deadline_seconds": DEADLINE, "grace_seconds": 30.0} | more,
        )

    async def run(self, mode: RunMode, **more: Any) -> Done:
        return await self.execute(self.context(mode, **more))

    async def execute(self, context: RunContext) -> Done:
        means = ExecutionMeans(
            work_root=self.root,
            engines=EngineSettings(search_path=self.search_path),
            check_out=self.check_out,
            scrub=lambda values: ScrubStream(Scrubber(values)),
            clock=self.clock,
        )
        try:
            return await execute(context, self.secrets, self.port, means, token=SecretStr(TOKEN))
        finally:
            assert not processes_of(str(RUN))
            assert not list(self.root.iterdir())

    async def check_out(self, _context: RunContext, _secrets: RunSecrets, directory: Path) -> None:
        for name, text in self.files.items():
            (directory / name).write_text(text)


@pytest.fixture
def state() -> Iterator[HttpState]:
    with http_state(str(RUN), TOKEN) as served:
        yield served


@pytest.fixture
async def rig(tmp_path: Path, state: HttpState) -> Rig:
    (tmp_path / "work").mkdir()
    return Rig(tmp_path / "work", state)


def artifact(rig: Rig, name: Any) -> Any:
    return json.loads(rig.port.artifacts[name])


async def test_a_stack_is_planned_applied_refreshed_and_destroyed(rig: Rig) -> None:
    rig.secrets = RunSecrets(variables={"password": SecretStr("canary-password")})
    planned = await rig.run(RunMode.PLAN, variables={"size": "{ w = 7, h = 2 }"})
    assert planned.failure is None, rig.port.text
    assert (planned.outcome, planned.has_changes, planned.exit_code) == (Outcome.SUCCESS, True, 2)
    assert planned.summary is not None
    assert (planned.summary.counts.create, planned.summary.counts_complete) == (2, True)
    assert planned.binding is not None
    assert (planned.binding.state_lineage, planned.binding.state_serial) == (None, None)
    assert (planned.binding.tool, planned.binding.tool_version) == (planned.tool, planned.tool_version)
    assert rig.port.order == [ANALYSIS, PLAN_SUMMARY, PLAN_FILE]
    assert artifact(rig, PLAN_SUMMARY)["hasChanges"] is True
    assert not any(asked.startswith("POST") for asked in rig.state.asked)

    applied = await rig.run(RunMode.APPLY, binding=planned.binding)
    assert applied.failure is None, rig.port.text
    assert (applied.outcome, applied.exit_code) == (Outcome.SUCCESS, 0)
    assert rig.state.resources == ["terraform_data.one", "terraform_data.two"]
    assert json.loads(rig.state.state or b"")["outputs"]["width"]["value"] == 7
    assert rig.state.lock is None
    assert len(artifact(rig, ANALYSIS)["stateResources"]["resources"]) == 2

    refreshed = await rig.run(RunMode.REFRESH, variables={"size": "{ w = 7, h = 2 }"})
    assert (refreshed.outcome, refreshed.has_changes) == (Outcome.SUCCESS, False)
    assert refreshed.binding is not None
    assert refreshed.binding.state_serial == json.loads(rig.state.state or b"")["serial"]

    destroying = await rig.run(RunMode.DESTROY)
    assert destroying.summary is not None
    assert (destroying.has_changes, destroying.summary.counts.delete) == (True, 2)
    destroyed = await rig.run(RunMode.APPLY, binding=destroying.binding)
    assert destroyed.outcome is Outcome.SUCCESS
    assert rig.state.resources == []

    assert "$ terraform plan -input=false" in rig.port.text or "$ tofu plan -input=false" in rig.port.text
    shown = rig.port.logged + rig.port.artifacts[ANALYSIS] + rig.port.artifacts[PLAN_SUMMARY]
    assert b"canary" not in shown


async def test_a_narrowed_plan_says_that_it_is_narrowed(rig: Rig) -> None:
    done = await rig.run(RunMode.PLAN, narrowing=Narrowing(targets=("terraform_data.one",)))
    assert done.summary is not None
    assert (done.has_changes, done.summary.counts.create, done.summary.counts_complete) == (True, 1, False)


async def test_an_apply_of_anything_but_what_was_confirmed_applies_nothing(rig: Rig) -> None:
    mark = Mark(str(uuid4()), 1)
    engine = await find_engine(
        EngineChoice.AUTO, search_path=rig.search_path, directory=rig.root, environment={}, mark=mark
    )
    rig.port.artifacts[PLAN_FILE] = b"a plan"
    confirmed = Binding(
        plan_digest=hashlib.sha256(b"a plan").hexdigest(),
        commit="c" * 40,
        variables_digest="d" * 64,
        tool=engine.tool,
        tool_version=engine.version,
    )
    others = {
        "the plan file is not": {"plan_digest": "0" * 64},
        "the commit is not": {"commit": "e" * 40},
        "the set of variables is not": {"variables_digest": "e" * 64},
        "the engine of the runner is not": {"tool": "other"},
        "the engine's version on the runner is not": {"tool_version": "0.0.1"},
        "the state is not": {"state_serial": 9, "state_lineage": "other"},
    }
    for words, other in others.items():
        done = await rig.run(RunMode.APPLY, binding=confirmed.model_copy(update=other))
        assert done.failure is not None
        assert done.failure.reason is RunFailureReason.BINDING_MISMATCH
        assert done.failure.message.startswith(words)
    assert (await rig.run(RunMode.APPLY, binding=None)).outcome is Outcome.FAILURE
    assert " apply " not in rig.port.text
    assert not any(asked.startswith("POST") for asked in rig.state.asked)


async def test_a_script_runs_with_the_secrets_in_its_environment_and_none_in_the_log(rig: Rig) -> None:
    script = 'terraform state list; echo "token=$API_TOKEN user=$WHO"; echo text-of-the-script > made; exit 4'
    rig.secrets = RunSecrets(environment={"API_TOKEN": SecretStr("canary-api-token")}, script=SecretStr(script))
    done = await rig.run(RunMode.RAW, environment={"WHO": "me"})
    assert (done.outcome, done.exit_code) == (Outcome.FAILURE, 4)
    assert done.failure is not None
    assert done.failure.message == "the script ended with exit code 4; the log says why"
    assert "$ bash -x script" in rig.port.text
    assert "token=[withheld] user=me" in rig.port.text
    assert "canary" not in rig.port.text


async def test_the_text_of_a_script_is_in_a_private_file_alone(rig: Rig, tmp_path: Path) -> None:
    seen = tmp_path / "seen"
    script = f"""# text-of-the-script
set -e; cat /proc/$$/cmdline /proc/$$/environ /proc/$PPID/cmdline /proc/$PPID/environ > {seen}
echo "mode $(stat -c %a "$0")"; grep -q text-of "$0"; ! grep -rq text-of .
read -r line || echo nothing is read
false; echo unreached"""
    rig.secrets = RunSecrets(script=SecretStr(script))
    done = await rig.run(RunMode.RAW)
    assert (done.outcome, done.exit_code) == (Outcome.FAILURE, 1)
    assert "mode 600\n" in rig.port.text
    assert "\nnothing is read\n" in rig.port.text
    assert not any(word in rig.port.text for word in ("unreached", "text-of-the"))
    assert b"guardian.py" in seen.read_bytes()
    assert b"text-of" not in seen.read_bytes()


async def test_what_the_engine_refuses_is_a_failure_with_its_words_in_the_log(rig: Rig) -> None:
    rig.files["more.tf"] = 'resource "terraform_data" "bad" { nonsense = 1 }'
    done = await rig.run(RunMode.PLAN)
    assert (done.outcome, done.exit_code, done.has_changes) == (Outcome.FAILURE, 1, None)
    assert done.failure is not None
    assert done.failure.message.endswith(" plan ended with exit code 1; the log says why")
    assert "nonsense" in rig.port.text
    assert not rig.port.artifacts


async def test_a_failed_apply_describes_the_state_it_left(rig: Rig) -> None:
    rig.files["main.tf"] = """
    resource "terraform_data" "good" {}
    resource "terraform_data" "bad" {
      depends_on = [terraform_data.good]
      provisioner "local-exec" { command = "exit 9" }
    }
    """
    planned = await rig.run(RunMode.PLAN)
    done = await rig.run(RunMode.APPLY, binding=planned.binding)
    assert (done.outcome, done.exit_code) == (Outcome.FAILURE, 1)
    assert {each["name"] for each in artifact(rig, ANALYSIS)["stateResources"]["resources"]} >= {"good"}


async def test_a_backend_of_their_own_cannot_take_the_state_away(rig: Rig) -> None:
    rig.files["zz_override.tf"] = 'terraform {\n  backend "local" {}\n}'
    done = await rig.run(RunMode.PLAN)
    assert done.failure is not None
    assert "keeps its state elsewhere" in done.failure.message
    assert " plan " not in rig.port.text


async def test_nothing_secret_is_on_the_disk_after_init(rig: Rig, tmp_path: Path) -> None:
    copies = tmp_path / "copies"
    script = f'cp -r "$TF_DATA_DIR" {copies}; cp -r . {copies}/source; cp -r "$HOME" "$TMPDIR" {copies}; stat -c %a ..'
    rig.secrets = RunSecrets(
        variables={"password": SecretStr("canary-password")},
        environment={"KEY": SecretStr("canary-key")},
        script=SecretStr(script),
    )
    assert (await rig.run(RunMode.RAW)).outcome is Outcome.SUCCESS, rig.port.text
    held = [path.read_bytes() for path in copies.rglob("*") if path.is_file()]
    assert any(b'"type": "http"' in each or b'"type":"http"' in each for each in held)
    assert not any(b"canary" in each for each in held)
    assert "700" in rig.port.text.split()


async def test_a_plan_that_cannot_be_kept_is_a_failure_but_its_log_and_description_may_be_lost(rig: Rig) -> None:
    rig.port.broken = {ANALYSIS, "log"}
    done = await rig.run(RunMode.PLAN)
    assert (done.outcome, done.has_changes) == (Outcome.SUCCESS, True)
    assert list(rig.port.artifacts) == [PLAN_FILE]
    assert rig.port.text == ""
    rig.port.broken = {PLAN_FILE}
    done = await rig.run(RunMode.PLAN)
    assert done.failure is not None
    assert done.failure.reason is RunFailureReason.PLAN_NOT_KEPT


async def test_without_an_engine_the_failure_says_what_to_install(rig: Rig, tmp_path: Path) -> None:
    rig.search_path = str(tmp_path)
    done = await rig.run(RunMode.PLAN)
    assert done.failure is not None
    assert done.failure.reason is RunFailureReason.ENGINE_MISSING
    assert "install it" in done.failure.message


async def test_a_path_outside_of_the_source_is_refused(rig: Rig) -> None:
    done = await rig.run(RunMode.PLAN, path="../..")
    assert done.failure is not None
    assert done.failure.reason is RunFailureReason.SOURCE_UNAVAILABLE


async def test_what_keeps_a_run_in_its_place_cannot_be_set(rig: Rig) -> None:
    for name in ("TF_HTTP_ADDRESS", "TF_CLI_ARGS_apply", "LOCKTENDER_RUN", "NO NAME"):
        done = await rig.run(RunMode.PLAN, environment={name: "canary"})
        assert done.failure is not None
        assert done.failure.message.startswith(f"the variable '{name}' ")
        assert "canary" not in done.failure.message


STUBBORN_PLAN: list[tuple[Binding, bytes]] = []


async def applying(rig: Rig) -> RunContext:
    """An apply whose provisioner ignores every request and leaves its group."""
    rig.files["main.tf"] = STUBBORN
    # Both tests begin without a state, so that one plan is good for both.
    if not STUBBORN_PLAN:
        planned = await rig.run(RunMode.PLAN)
        assert planned.binding is not None
        STUBBORN_PLAN.append((planned.binding, rig.port.artifacts[PLAN_FILE]))
    binding, rig.port.artifacts[PLAN_FILE] = STUBBORN_PLAN[0]
    return rig.context(RunMode.APPLY, binding=binding)


async def test_a_cancelled_apply_is_acknowledged_asked_and_killed(rig: Rig) -> None:
    context = await applying(rig)
    async with asyncio.TaskGroup() as group:
        running = group.create_task(rig.execute(context))
        await eventually(lambda: "provisioning" in rig.port.text.split("apply")[-1])
        rig.port.cancelled.set()
        await eventually(lambda: "Interrupt received" in rig.port.text)
        await rig.clock.elapse(context.grace_seconds - 1)
        assert processes_of(str(RUN))
        assert not running.done()
        await rig.clock.elapse(1)
    assert (running.result().outcome, running.result().cancellation_reason) == (Outcome.CANCELLED, None)
    assert rig.port.acknowledged == 1
    assert rig.port.text.endswith("Stopped, as asked for.\n")


async def test_a_run_that_takes_too_long_is_stopped_and_says_so(rig: Rig) -> None:
    rig.secrets = RunSecrets(
        script=SecretStr("trap 'echo a''sked; exit 0' TERM; echo started; while true; do sleep 0.05; done")
    )
    async with asyncio.TaskGroup() as group:
        running = group.create_task(rig.run(RunMode.RAW))
        await eventually(lambda: "\nstarted\n" in rig.port.text)
        await rig.clock.elapse(DEADLINE)
    done = running.result()
    assert (done.outcome, done.cancellation_reason) == (Outcome.CANCELLED, CancellationReason.RUN_DEADLINE)
    assert "\nasked\n" in rig.port.text
    assert rig.port.text.endswith("Stopped: the run took longer than it may.\n")


async def test_a_lost_lease_kills_at_once_and_reports_nothing(rig: Rig) -> None:
    context = await applying(rig)
    async with asyncio.timeout(10), asyncio.TaskGroup() as group:

        async def losing() -> None:
            with pytest.raises(LeaseGone):
                await rig.execute(context)

        group.create_task(losing())
        await eventually(lambda: "provisioning" in rig.port.text.split("apply")[-1])
        rig.port.lost.set()
    assert "Interrupt received" not in rig.port.text
