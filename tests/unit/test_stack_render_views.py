"""Stacks, deployments and the queue as people read them in the terminal."""

from datetime import timedelta
from typing import Any
from uuid import UUID

from rich.console import Console, RenderableType

from locktender.cli.render.stacks.deployment import deployment_lines, next_steps
from locktender.cli.render.stacks.holdings import knowledge_lines, output_lines, resources_listing
from locktender.cli.render.stacks.queue import queue_parts
from locktender.cli.render.stacks.stack import stack_lines, stacks_listing
from locktender.contracts.stacks.flow import DeploymentStatus, RunStatus, StagePhase
from locktender.contracts.stacks.presentation import StackDisplay
from locktender.contracts.stacks.queue import GroupLoad, QueueEntry, QueueLayer, QueueView
from locktender.contracts.stacks.views import (
    BlockerKind,
    LaneHolder,
    LatestDeployment,
    StackBlocker,
    StackPage,
    Uncertainty,
)
from locktender.contracts.stacks.vocabulary import DeploymentMode, RunMode
from locktender.testkit.stack_views import (
    DEPLOYMENT,
    NOON,
    RUN,
    STACK,
    deployment_view,
    run_view,
    shown,
    stack_view,
    stage_view,
)


def told(*parts: RenderableType) -> str:
    console = Console(width=300, record=True, force_terminal=False)
    with console.capture() as captured:
        for part in parts:
            console.print(part, highlight=False, soft_wrap=True)
    return "\n".join(line.rstrip() for line in captured.get().splitlines())


def test_a_waiting_deployment_shows_its_stages_their_actors_the_binding_the_deadline_and_what_to_do() -> None:
    blocker = StackBlocker(kind=BlockerKind.PERSON, message="waiting for a confirmation by a person")
    confirmation = stage_view(None, ordinal=2, phase=StagePhase.WAITING, actor=None, completed_at=None)
    view = deployment_view(
        blocked_by=blocker, deadline_at=NOON + timedelta(hours=2), deadline="Then it is skipped by itself.",
        stages=(stage_view(run_view()), confirmation),
    )  # fmt: skip
    text = told(*deployment_lines(shown(view), NOON), *next_steps(shown(view)))
    assert text.splitlines() == [
        "network #12  plan  needs confirmation",
        "source: cccccccccccc  (main)  Wider net",
        "made by: ada, 2026-03-01 12:00:00 UTC",
        "  ✓ 1. plan  done  by ada",
        f"       run {RUN}: success, group default, terraform 1.11.4",
        "       At least 1 to create, 1 to update, 1 moved, 1 output changed: the plan was narrowed to some resources.",
        "       plan dddddddddddd of cccccccccccc, no state yet",
        "  · 2. confirmation  waiting",
        "now: waiting for a confirmation by a person",
        "until: 2026-03-01 14:00:00 UTC, in 2 h 00 m. Then it is skipped by itself.",
        "Apply it with: locktender stack confirm network 12",
        "Or drop it with: locktender stack skip network 12",
    ]


def test_a_lost_apply_sends_to_a_refresh_and_not_to_a_retry() -> None:
    lost = run_view(mode=RunMode.APPLY, status=RunStatus.TIMED_OUT)
    view = deployment_view(DeploymentStatus.FAILED, run=lost)
    assert view.presentation is StackDisplay.LOST
    assert (
        told(*next_steps(shown(view))) == "What the apply did is unknown. Look with: locktender stack refresh network"
    )


def test_the_list_shows_the_lane_what_it_waits_for_and_doubt_whatever_came_after() -> None:
    latest = LatestDeployment(
        id=DEPLOYMENT, number=12, mode=DeploymentMode.PLAN, status=DeploymentStatus.FINISHED, created_at=NOON,
        completed_at=NOON,
    )  # fmt: skip
    holder = LaneHolder(
        id=DEPLOYMENT, number=13, mode=DeploymentMode.DESTROY, status=DeploymentStatus.WAITING, since=NOON
    )
    doubt = Uncertainty(since=NOON, run_id=RUN, message="an apply was lost")
    doubtful = shown(stack_view(latest_deployment=latest, lane=holder, uncertain=doubt))
    page = StackPage(stacks=(), next_cursor=None)
    listed = told(stacks_listing(shown(page) | {"stacks": [doubtful, shown(stack_view(name="fresh"))]}))
    assert "#12 finished ? uncertain" in listed
    assert "#13 destroy" in listed
    assert "an apply was lost" in listed
    assert "never deployed" in listed
    assert "Look with: locktender stack refresh network" in told(*stack_lines(doubtful))


def entry(layer: QueueLayer, **changes: Any) -> QueueEntry:
    usual: dict[str, Any] = {
        "stack": "network", "stack_id": STACK, "deployment_id": DEPLOYMENT, "number": 12, "mode": DeploymentMode.PLAN,
        "status": DeploymentStatus.QUEUED, "layer": layer, "position": 1, "reason": "its lane is taken",
        "blocked_by": StackBlocker(kind=BlockerKind.LANE, message="behind #11", deployment_number=11),
        "runner_group": "default", "labels": (), "created_by": "ada", "prioritized_at": None, "prioritized_by": None,
        "created_at": NOON,
    }  # fmt: skip
    return QueueEntry(**(usual | changes))


def test_the_queue_shows_both_lines_with_places_reasons_and_who_is_in_the_way() -> None:
    runner = StackBlocker(kind=BlockerKind.RUNNER, message="no runner", runner_group="gpu")
    queue = QueueView(
        entries=(
            entry(QueueLayer.LANE),
            entry(
                QueueLayer.RUNNER, stack="web", number=3, runner_group="gpu", position=None, reason="about to be taken",
                blocked_by=runner, prioritized_at=NOON, deployment_id=UUID(int=9),
            ),
        ),
        truncated=False,
        groups=(GroupLoad(name="gpu", labels=("a100",), capacity=2, running=1),),
    )  # fmt: skip
    lines = told(*queue_parts(shown(queue), NOON)).splitlines()
    assert lines[0] == "Waiting for a runner: 1"
    assert "web #3 (first)" in lines[2]
    assert lines[3] == "Waiting for the lane of their stack: 1"
    assert lines[5].split()[:3] == ["1", "network", "#12"]
    assert lines[5].endswith("its lane is taken (behind #11)")
    assert lines[-1] == "  gpu: 1 running, at most 2  a100"


def test_unknown_is_not_empty() -> None:
    unknown = {"known": False, "reason": "nothing was planned yet", "source": None, "outdated": None}
    assert told(*knowledge_lines(unknown)) == "not known: nothing was planned yet"
    source = {"deploymentNumber": 3, "runMode": "apply", "completedAt": NOON.isoformat()}
    known = {"known": True, "reason": None, "source": source, "outdated": "the state was imported since"}
    assert told(*knowledge_lines(known)).splitlines() == [
        "as deployment #3 (apply) found it at 2026-03-01 12:00:00 UTC",
        "the state was imported since",
    ]
    assert told(resources_listing([])) == "the state is empty"
    secret = {"name": "key", "sensitive": True, "value": "must not show"}
    assert told(*output_lines([secret])) == "key = (sensitive value)"
