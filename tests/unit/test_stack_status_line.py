"""What a terminal shows while a deployment is followed: how far it is, and of a failure the end of the log."""

import io
from datetime import UTC, datetime, timedelta

import pytest
import typer
from rich.console import Console

from locktender.cli.missing import listing_of, missing
from locktender.cli.render.stacks.words import age, lasting, mode_word
from locktender.cli.stacks.durations import NEVER, length, limit
from locktender.cli.stacks.status_line import StatusLine
from locktender.contracts.stacks.flow import DeploymentStatus, RunStatus, StagePhase
from locktender.testkit.stack_views import deployment_view, run_view, shown, stage_view


def screen(*, log: bool | None, fails: bool = False) -> str:
    """All that a terminal is sent while a plan goes on and ends."""
    console = Console(file=io.StringIO(), force_terminal=True, width=80, color_system=None)
    running = run_view(status=RunStatus.RUNNING, has_changes=None, plan=None, binding=None, completed_at=None)
    begun = stage_view(running, phase=StagePhase.RUNNING, completed_at=None)
    line = StatusLine(console, log=log)
    with line:
        line.show(shown(deployment_view(DeploymentStatus.PLANNING, stages=(begun,))))
        for told in ("Initializing", "null_resource.a: Refreshing", "        + input = {"):
            line.log(told)
        line.show(shown(deployment_view(DeploymentStatus.WAITING, stages=(stage_view(run_view()),))))
    if fails:
        line.fail()
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def test_a_terminal_shows_how_far_it_is_and_not_the_whole_log() -> None:
    told = screen(log=None)
    assert "✓ 1. plan  done" in told
    assert "null_resource.a: Refreshing" in told
    assert "+ input = {" not in told
    assert "+ input = {" in screen(log=True)


def test_of_a_failure_the_end_of_the_log_is_shown_where_it_was_not_followed() -> None:
    assert screen(log=False, fails=True).rstrip().endswith("+ input = {")
    assert "the end of the log" not in screen(log=True, fails=True)


def test_lengths_of_time_are_read_and_told() -> None:
    assert [length(told) for told in ("90", "90s", "15m", "2h", "7d", "1h30m")] == [90, 90, 900, 7200, 604_800, 5400]
    assert [limit(told) for told in ("never", "-1", "0")] == [NEVER, NEVER, 0]
    for wrong in ("", "soon", "1x", "-5", "1.5h"):
        with pytest.raises(typer.BadParameter):
            length(wrong)
    now = datetime(2026, 3, 1, tzinfo=UTC)
    ages = [age((now - timedelta(seconds=seconds)).isoformat(), now) for seconds in (-5, 59, 61, 7200, 200_000)]
    assert ages == ["0 s", "59 s", "1 m", "2 h", "2 d"]
    assert [lasting(seconds) for seconds in (0, 90, 120, 7200, 604_800)] == ["0 s", "90 s", "2 m", "2 h", "7 d"]


def test_a_look_and_a_command_are_called_that() -> None:
    assert [mode_word(mode) for mode in ("plan", "plan_unlocked", "raw", "newer")] == [
        "plan",
        "look",
        "command",
        "newer",
    ]


@pytest.mark.parametrize(
    ("path", "told", "listing"),
    [
        ("/stacks/net", "there is no stack net, or you may not see it", "stack list"),
        ("/stacks/net/deployments", "there is no stack net, or you may not see it", "stack list"),
        ("/stacks/net/deployments/9/confirm", "there is no net #9, or you may not see it", "stack show net"),
        ("/stacks/net/deployments/9/runs/x/log", None, "stack show net"),
        ("/stacks/net/state", None, "stack list"),
        ("/runner-groups/gpu", "there is no runner group gpu, or you may not see it", "stack group list"),
        ("/runner-groups/gpu/runners/x", None, "stack group list"),
        ("/deployment-tasks/x", None, "deployments list"),
    ],
)
def test_what_is_not_there_is_named_where_that_is_certain(path: str, told: str | None, listing: str) -> None:
    whole = f"/v1/workspaces/main{path}"
    assert (missing(whole), listing_of(whole)) == (told, listing)
