"""`locktender demo --scenario stack`: a stack from its plan to its apply, shown by a system that starts for it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from locktender.testkit.commands import ended, run, started
from locktender.testkit.scratch import scratch_dir

pytestmark = [pytest.mark.timeout(300), pytest.mark.takes(seconds=35)]

_SECONDS = 240.0


@pytest.fixture
def folder() -> Iterator[Path]:
    with scratch_dir() as path:
        yield path


async def test_the_demo_plans_waits_confirms_and_applies_a_stack(folder: Path) -> None:
    shown = await ended(await started(folder, "demo", "--scenario", "stack", "--exit", "--json"), seconds=_SECONDS)
    assert shown.code == 0, shown.err
    last = shown.lines[-1]
    assert (last["scenario"], last["status"], last["resources"]) == ("stack", "finished", 4)
    assert [each["status"] for each in last["deployments"]] == ["finished", "finished", "skipped"]
    assert last["deployments"][0]["seconds"]["applying"] > 0
    assert last["blockedBy"].startswith("behind deployment #1")
    assert last["outputs"]["database_url"] == "(sensitive value)"
    told = shown.err.splitlines()
    assert "  # terraform_data.network will be created" in told
    assert "Plan: 4 to create, 3 outputs changed." in told
    assert "  # terraform_data.network must be replaced" in told
    assert f"  {last['stalePlan']}" in told
    assert any(line.startswith("Apply complete! Resources: 4 added") for line in told)


async def test_the_demo_of_a_stack_says_at_once_which_program_is_missing(folder: Path) -> None:
    refused = await run(folder, "demo", "--scenario", "stack", "--exit", PATH=str(folder))
    assert refused.code == 5
    assert "a stack needs git and tofu or terraform" in refused.err
