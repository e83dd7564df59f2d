"""Planned faults: at the named place, at the n-th time, once."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from locktender.testkit.faults import InjectedFault, planned_faults
from locktender.testkit.faulty import main

_REACHES = """
import asyncio, os
from locktender.testkit.faults import planned_faults
async def main():
    faults = planned_faults(os.environ)
    for n in range(1, 4):
        await faults.reach("runner.after-effect")
        print(n, flush=True)
asyncio.run(main())
"""


def _run(faults: str, folder: Path) -> "subprocess.CompletedProcess[str]":
    environment = {"LOCKTENDER_FAULTS": faults, "LOCKTENDER_FAULTS_DIR": str(folder)}
    return subprocess.run(
        [sys.executable, "-c", _REACHES], env=environment, capture_output=True, text=True, timeout=60, check=False
    )


def test_a_process_dies_at_the_nth_time_and_its_successor_lives(tmp_path: Path) -> None:
    first = _run("runner.after-effect=kill@2", tmp_path)
    assert (first.returncode, first.stdout.split()) == (-signal.SIGKILL, ["1"])
    second = _run("runner.after-effect=kill@2", tmp_path)
    assert (second.returncode, second.stdout.split()) == (0, ["1", "2", "3"])


async def test_a_fault_comes_once_and_only_at_its_place() -> None:
    faults = planned_faults({"LOCKTENDER_FAULTS": "api.x=fail@2; api.y=stall:0.001;"})
    await faults.reach("api.x")
    await faults.reach("api.z")
    await faults.reach("api.y")
    with pytest.raises(InjectedFault, match=r"api\.x"):
        await faults.reach("api.x")
    await faults.reach("api.x")


async def test_no_plan_means_no_faults() -> None:
    await planned_faults({}).reach("api.x")


@pytest.mark.parametrize(
    "plan", ["api.x=die", "api.x", "api.x=kill@0", "x=kill", "api.x=stall", "api.x=kill;api.x=fail", "api.x=kill@2@3"]
)
def test_a_plan_that_cannot_be_read_is_refused(plan: str) -> None:
    with pytest.raises(ValueError, match="fault"):
        planned_faults({"LOCKTENDER_FAULTS": plan})


def test_an_unknown_service_is_a_wrong_use(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["nobody"]) == 2
    assert "usage" in capsys.readouterr().err
