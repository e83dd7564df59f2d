"""A stack from its first plan to its end, by commands, with the real engine: nothing in between is made up."""

import json
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from locktender.testkit.commands import Ran, run
from locktender.testkit.git_repository import Repository
from locktender.testkit.invoked import invoked
from locktender.testkit.system import SystemRig, running_system

pytestmark = [
    pytest.mark.timeout(240),
    pytest.mark.takes(seconds=30),
]

CONFIGURATION = """
variable "greeting" { type = string }
resource "terraform_data" "net" { input = var.greeting }
output "told" { value = terraform_data.net.output }
"""


@pytest.fixture(scope="module")
async def rig() -> AsyncGenerator[SystemRig]:
    async with running_system(lease_seconds=10) as rig:
        yield rig


async def test_a_stack_is_planned_confirmed_applied_looked_at_and_destroyed(rig: SystemRig, tmp_path: Path) -> None:
    async def stack(*arguments: str) -> Ran:
        return await invoked(rig.folder, "stack", *arguments)

    repository = Repository.made(tmp_path / "net")
    repository.commit(CONFIGURATION, "first")
    made = await stack("create", "network", "--git", repository.url, "--ref", "main")
    assert made.code == 0, made
    assert (await stack("variable", "set", "network", "greeting", "hello")).code == 0

    planned = await run(rig, "stack", "plan", "network")
    assert planned.code == 7, planned
    lines = planned.out.splitlines()
    assert "  # terraform_data.net will be created" in lines
    assert lines.count('      + input  = "hello"') == 2, "once in the log, once in the plan"
    assert lines[-3].startswith("Plan: 1 to create")
    assert any("Initializing" in line for line in lines), "the log is followed"
    listed = await stack("list")
    assert "#1 needs confirmation" in listed.out
    queue = await stack("plan", "network", "--no-wait", "--json")
    assert (queue.code, queue.json["deployment"]["status"]) == (0, "queued")
    waiting = await stack("queue")
    assert "network #2" in waiting.out
    assert "#1" in waiting.out.replace("network #1", "")
    assert (await stack("skip", "network", "2")).code == 0

    applied = await stack("confirm", "network", "--yes")
    assert applied.code == 0, applied
    assert "terraform_data.net" in (await stack("resources", "network")).out
    assert 'told = "hello"' in (await stack("outputs", "network")).out
    state = await stack("state", "pull", "network")
    assert json.loads(state.out)["outputs"]["told"]["value"] == "hello"
    logs = await stack("logs", "network", "1", "--run", "2")
    assert "Apply complete" in logs.out
    again = await stack("plan", "network")
    assert (again.code, "Plan: No changes." in again.out) == (0, True), (again, (await stack("logs", "network")).out)

    (repository.folder / "main.tf").write_text(CONFIGURATION + 'resource "terraform_data" "more" {}\n')
    looked = await stack("local-plan", "network", str(repository.folder), "--markdown", "--exit-code")
    assert (looked.code, "<code>terraform_data.more</code>" in looked.out) == (6, True), looked

    gone = await stack("destroy", "network", "--auto-confirm", "--json")
    assert (gone.code, gone.json["deployment"]["status"]) == (0, "finished"), gone
    assert "the state is empty" in (await stack("resources", "network")).out
    assert (await stack("delete", "network", "--yes")).code == 0
    assert (await stack("show", "network")).code == 3
