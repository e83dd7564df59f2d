"""The commands for stacks as a pipeline runs them: exit codes, JSON, Markdown, streams that break, and what is sent."""

import json
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from locktender.contracts.stacks.flow import DeploymentStatus, RunStatus
from locktender.contracts.stacks.models import QueuePolicy
from locktender.contracts.stacks.vocabulary import DeploymentMode, RunFailureReason
from locktender.contracts.stacks.wire import RunFailure
from locktender.testkit.commands import Ran, run
from locktender.testkit.invoked import invoked
from locktender.testkit.scripted_api import Say, ScriptedApi, scripted_api, stream
from locktender.testkit.stack_views import CHANGES, DIGEST, RUN, deployment_view, run_view, shown, stack_view

pytestmark = pytest.mark.timeout(60)

STACK = "/v1/workspaces/main/stacks/network"
DEPLOYMENTS = f"{STACK}/deployments"
TWELVE = f"{DEPLOYMENTS}/12"
LOG = f"{TWELVE}/runs/{RUN}/log/stream"

Cli = Callable[..., Any]


def frame(event: str, data: Any, number: int | None = None) -> str:
    return f"event: {event}\n" + (f"id: {number}\n" if number is not None else "") + f"data: {json.dumps(data)}"


def planning() -> dict[str, Any]:
    running = run_view(status=RunStatus.RUNNING, has_changes=None, plan=None, binding=None, completed_at=None)
    return shown(deployment_view(DeploymentStatus.PLANNING, run=running))


def until(view: dict[str, Any], **more: list[Say]) -> dict[str, list[Say]]:
    """An API where a deployment is made, followed, and comes to be as `view`."""
    return {
        f"POST {DEPLOYMENTS}": [Say(planning(), 201)],
        f"GET {TWELVE}/stream": [
            stream(frame("update", planning(), 1)),
            stream(frame("update", view, 3), frame("end", {}, 3)),
        ],
        f"GET {LOG}": [
            stream(frame("log", {"offset": 0, "text": "Initializing\npart of a "}, 23)),
            stream(
                frame("log", {"offset": 23, "text": "line\n"}, 28), frame("end", {"status": "success", "end": 28}, 28)
            ),
        ],
        f"GET {TWELVE}/runs/{RUN}/plan-changes": [Say(shown(CHANGES))],
        f"GET {TWELVE}": [Say(view)],
    } | {name.replace("_", " ", 1): say for name, say in more.items()}


@asynccontextmanager
async def api(tmp_path: Path, answers: dict[str, list[Say]]) -> AsyncGenerator[tuple[ScriptedApi, Cli]]:
    async with scripted_api(answers) as server:

        async def cli(*arguments: str, stdin: str = "") -> Ran:
            environment = {"LOCKTENDER_URL": server.url, "LOCKTENDER_TOKEN": "t"}
            return await invoked(tmp_path, "stack", *arguments, stdin=stdin, **environment)

        yield server, cli


async def test_a_plan_is_followed_shown_and_ends_with_7_and_what_to_do(tmp_path: Path) -> None:
    async with api(tmp_path, until(shown(deployment_view()))) as (server, cli):
        ran = await cli("plan", "network", "--target", "null_resource.a", "--idempotency-key", "job-1")
    assert ran.code == 7, ran
    lines = ran.out.splitlines()
    assert lines.count("part of a line") == 1, "a log goes on where it broke off"
    assert "network #12  plan  needs confirmation" in lines
    assert "  # null_resource.a will be created" in lines
    assert lines[-3].startswith("Plan: At least 1 to create")
    assert lines[-2] == "Apply it with: locktender stack confirm network 12"
    asked = server.requests("POST", DEPLOYMENTS)[0]
    assert asked.json["targets"] == ["null_resource.a"]
    assert asked.headers["idempotency-key"] == "job-1"
    assert [each.headers.get("last-event-id") for each in server.requests("GET", LOG)] == [None, "23"]


async def test_pipelines_get_one_document_or_one_comment_and_the_rest_on_standard_error(tmp_path: Path) -> None:
    async with api(tmp_path, until(shown(deployment_view()))) as (_, cli):
        told = await cli("plan", "network", "--json", "--detailed-exitcode")
    assert (told.code, told.json["deployment"]["status"]) == (2, "waiting")
    assert [each["action"] for each in told.json["planChanges"]["resources"]] == ["create", "update"]
    async with api(tmp_path, until(shown(deployment_view()))) as (_, cli):
        commented = await cli("plan", "network", "--markdown")
    assert commented.code == 7
    assert commented.out.startswith("### network")
    assert "part of a line" in commented.err
    assert "part of a line" not in commented.out


@pytest.mark.parametrize(
    ("status", "mode", "arguments", "code"),
    [
        (DeploymentStatus.FINISHED, DeploymentMode.PLAN, (), 0),
        (DeploymentStatus.FAILED, DeploymentMode.PLAN, (), 1),
        (DeploymentStatus.CANCELLED, DeploymentMode.PLAN, (), 1),
        (DeploymentStatus.SKIPPED, DeploymentMode.PLAN, (), 8),
        (DeploymentStatus.FINISHED, DeploymentMode.PLAN_UNLOCKED, ("--unlocked", "--exit-code"), 6),
    ],
)
async def test_each_ending_has_its_exit_code(
    tmp_path: Path, status: DeploymentStatus, mode: DeploymentMode, arguments: tuple[str, ...], code: int
) -> None:
    failure = RunFailure(reason=RunFailureReason.ENGINE_FAILED, message="see the log")
    view = deployment_view(status, mode=mode, failure=failure if status is DeploymentStatus.FAILED else None)
    async with api(tmp_path, until(shown(view))) as (_, cli):
        ran = await cli("plan", "network", *arguments)
    assert ran.code == code, ran
    assert ("Read why with: locktender stack logs network 12" in ran.out) == (code == 1 and status == "failed")


async def test_apply_confirms_the_very_plan_that_it_has_shown_and_only_when_told_to(tmp_path: Path) -> None:
    waiting, finished = shown(deployment_view()), shown(deployment_view(DeploymentStatus.FINISHED))
    async with api(tmp_path, until(waiting)) as (server, cli):
        left = await cli("apply", "network")
    assert left.code == 7
    assert "nobody is here to ask" in left.out
    assert not server.requests("POST", f"{TWELVE}/confirm")
    answers = until(waiting) | {f"POST {TWELVE}/confirm": [Say(shown(deployment_view(DeploymentStatus.APPLYING)))]}
    answers[f"GET {TWELVE}/stream"].append(stream(frame("update", finished, 5), frame("end", {}, 5)))
    async with api(tmp_path, answers) as (server, cli):
        applied = await cli("apply", "network", "--auto-confirm")
    assert applied.code == 0, applied
    assert server.requests("POST", f"{TWELVE}/confirm")[0].json == {"planDigest": DIGEST}
    assert applied.out.count("null_resource.a will be created") == 1


async def test_a_confirmation_takes_a_yes_and_can_be_bound_to_what_another_job_has_read(tmp_path: Path) -> None:
    stale = {"type": "urn:locktender:problem:stale-plan", "title": "x", "detail": "the state has moved on"}
    answers = until(shown(deployment_view())) | {
        f"POST {TWELVE}/confirm": [Say(stale, 409)],
        f"GET {STACK}": [Say(shown(stack_view()) | {"lane": {"number": 12}})],
    }
    async with api(tmp_path, answers) as (server, cli):
        unasked = await cli("confirm", "network")
        assert (unasked.code, "Plan: At least 1 to create" in unasked.out) == (7, True)
        other = await cli("confirm", "network", "12", "--yes", "--plan-digest", "a" * 64)
        assert (other.code, server.requests("POST", f"{TWELVE}/confirm")) == (4, [])
        moved = await cli("confirm", "network", "12", "--yes", "--plan-digest", DIGEST)
    assert moved.code == 4
    assert "the state has moved on" in moved.err
    assert "Look at the plan again" in moved.err


async def test_a_folder_becomes_the_source_of_a_stack_and_of_a_local_plan(tmp_path: Path) -> None:
    (tmp_path / "tree").mkdir()
    (tmp_path / "tree" / "main.tf").write_text('output "a" { value = 1 }\n')
    view = shown(deployment_view(DeploymentStatus.FINISHED, mode=DeploymentMode.PLAN_UNLOCKED))
    answers = until(view) | {
        "POST /v1/workspaces/main/stacks": [Say(shown(stack_view()), 201)],
        f"PATCH {STACK}": [Say(shown(stack_view()))],
        f"POST {DEPLOYMENTS}:local": [Say(planning(), 201)],
    }
    async with api(tmp_path, answers) as (server, cli):
        nowhere = await cli("create", "network")
        assert (nowhere.code, nowhere.out) == (2, "")
        made = await cli("create", "network", "--dir", str(tmp_path / "tree"), "--auto-approve", "non_destructive")
        # The server cannot know the digest beforehand, so the upload is what it refuses.
        assert made.code == 3
        sent = next(each for each in server.asked if each.method == "PUT")
        sha256 = sent.path.rpartition("/")[2]
        server.answers[f"PUT {sent.path}"] = [Say({"sha256": sha256, "size": len(sent.body)}, 201)]
        made = await cli("create", "network", "--dir", str(tmp_path / "tree"), "--auto-approve", "non_destructive")
        planned = await cli("local-plan", "network", str(tmp_path / "tree"))
    assert (made.code, planned.code) == (0, 0), (made, planned)
    body = server.requests("POST", "/v1/workspaces/main/stacks")[-1].json
    assert body == {"name": "network", "source": {"kind": "archive", "path": "."}, "autoApprove": "non_destructive"}
    assert server.requests("PATCH", STACK)[0].json == {"source": {"kind": "archive", "path": ".", "sha256": sha256}}
    assert server.requests("POST", f"{DEPLOYMENTS}:local")[0].json["sha256"] == sha256


async def test_an_update_keeps_what_it_does_not_name(tmp_path: Path) -> None:
    policy = QueuePolicy(confirmation_timeout_seconds=60, queued_timeout_seconds=90)
    answers = {f"GET {STACK}": [Say(shown(stack_view(policy=policy)))], f"PATCH {STACK}": [Say(shown(stack_view()))]}
    async with api(tmp_path, answers) as (server, cli):
        nothing = await cli("update", "network")
        arguments = ("--path", "other", "--confirmation-timeout", "0", "--supersede-after", "0", "--forget-git-token")
        changed = await cli("update", "network", *arguments)
    assert (nothing.code, changed.code) == (2, 0), changed
    assert [each.json for each in server.requests("PATCH", STACK)] == [
        {
            "source": {"kind": "git", "url": "https://git.example.com/net", "ref": "main", "path": "other"},
            "policy": {"confirmationTimeoutSeconds": None, "queuedTimeoutSeconds": 90, "supersedeAfterSeconds": 0},
            "gitToken": None,
        }
    ]


async def test_a_secret_is_read_from_standard_input_and_never_repeated(tmp_path: Path) -> None:
    path = f"{STACK}/variables/environment/API_KEY"
    stored = {"kind": "environment", "name": "API_KEY", "sensitive": True, "value": None}
    async with api(tmp_path, {f"PUT {path}": [Say(stored)]}) as (server, cli):
        nobody = await cli("variable", "set", "network", "API_KEY", "--env")
        done = await cli("variable", "set", "network", "API_KEY", "--env", "--sensitive", "-f", "-", stdin="s3cret\n")
    assert (nobody.code, done.code) == (2, 0), done
    assert server.requests("PUT", path)[0].json == {"value": "s3cret", "sensitive": True}
    assert "s3cret" not in done.out + done.err


async def test_a_token_has_an_audience_and_one_kind(tmp_path: Path) -> None:
    path = f"{STACK}/variables/token-file/CLOUD_FILE"
    stored = {"kind": "token-file", "name": "CLOUD_FILE", "sensitive": False, "value": "cloud"}
    listed = {"variables": [stored | {"updatedBy": "ada", "updatedAt": "2026-11-30T08:00:00Z"}]}
    routes = {f"PUT {path}": [Say(stored)], f"GET {STACK}/variables": [Say(listed)], f"DELETE {path}": [Say(listed)]}
    async with api(tmp_path, routes) as (server, cli):
        both = await cli("variable", "set", "network", "CLOUD_FILE", "cloud", "--identity-token", "--env")
        done = await cli("variable", "set", "network", "CLOUD_FILE", "cloud", "--identity-token-file")
        shown = await cli("variable", "list", "network")
        gone = await cli("variable", "unset", "network", "CLOUD_FILE", "--identity-token-file")
    assert (both.code, done.code, gone.code) == (2, 0, 0), done
    assert server.requests("PUT", path)[0].json == {"value": "cloud", "sensitive": False}
    assert "token-file" in shown.out


async def test_logs_and_watchers_tell_programs_one_object_a_line(tmp_path: Path) -> None:
    async with api(tmp_path, until(shown(deployment_view()))) as (_, cli):
        logs = await cli("logs", "network", "12", "--follow", "--json")
        watched = await cli("watch", "network", "12", "--json")
        beyond = await cli("logs", "network", "12", "--run", "2")
    assert [each["line"] for each in logs.lines] == ["Initializing", "part of a line"]
    assert (watched.code, [each["status"] for each in watched.lines]) == (7, ["waiting"])
    assert (beyond.code, "has 1 run only" in beyond.err) == (3, True)


async def test_a_file_that_is_no_state_is_never_sent(tmp_path: Path) -> None:
    version = {"id": "v", "serial": 4, "lineage": "l"}
    async with api(tmp_path, {f"PUT {STACK}/state": [Say(version)]}) as (server, cli):
        refused = await cli("state", "push", "network", "-", stdin='{"hello": 1}')
        assert (refused.code, server.asked) == (2, [])
        state = json.dumps({"version": 4, "serial": 4, "lineage": "l", "resources": []})
        taken = await cli("state", "import", "network", "-", stdin=state)
    assert taken.code == 0, taken
    assert server.requests("PUT", f"{STACK}/state")[0].body.decode() == state
    assert "locktender stack plan network" in taken.out


async def test_what_is_not_there_and_who_does_not_answer_are_said_shortly(tmp_path: Path) -> None:
    async with api(tmp_path, {}) as (_, cli):
        missing = await cli("show", "network")
    assert (missing.code, "locktender stack list" in missing.err) == (3, True)
    gone = await run(tmp_path, "stack", "list", LOCKTENDER_URL="http://127.0.0.1:9", LOCKTENDER_TOKEN="t")
    assert (gone.code, "does not answer" in gone.err) == (5, True)


async def test_a_group_tells_its_token_once_and_is_listed_with_its_runners(tmp_path: Path) -> None:
    group = {
        "name": "gpu", "labels": ["large"], "capacity": 2, "lastDispatchError": None,
        "runners": [{"id": "r-1", "name": "worker", "status": "ready", "lastSeenAt": "2026-11-30T01:02:03Z"}],
    }  # fmt: skip
    path = "/v1/workspaces/main/runner-groups"
    answers = {
        f"POST {path}": [Say({"group": group, "token": "ltg_once"}, 201)], f"GET {path}": [Say({"groups": [group]})],
        f"DELETE {path}/gpu": [Say({}, 204)],
    }  # fmt: skip
    async with api(tmp_path, answers) as (server, cli):
        made = await cli("group", "create", "gpu", "--label", "large", "--capacity", "2")
        listed = await cli("group", "list")
        gone = await cli("group", "delete", "gpu")
    assert (made.code, listed.code, gone.code) == (0, 0, 0), (made, listed, gone)
    assert server.requests("POST", path)[0].json == {"name": "gpu", "labels": ["large"], "capacity": 2}
    assert "ltg_once" in made.out
    assert "worker" in listed.out
    assert "ltg_once" not in listed.out


async def test_a_log_can_be_left_out_but_not_the_end_of_one_that_tells_of_a_failure(tmp_path: Path) -> None:
    async with api(tmp_path, until(shown(deployment_view()))) as (_, cli):
        quiet = await cli("plan", "network", "--no-log")
    assert (quiet.code, "part of a line" in quiet.out, "Plan: At least 1" in quiet.out) == (7, False, True)
    async with api(tmp_path, until(shown(deployment_view(DeploymentStatus.FAILED)))) as (_, cli):
        failed = await cli("plan", "network", "--no-log")
    assert (failed.code, failed.out.count("part of a line")) == (1, 1)


async def test_a_mistake_of_ours_is_a_line_and_no_trace(tmp_path: Path) -> None:
    async with api(tmp_path, {f"GET {TWELVE}": [Say({})]}) as (_, cli):
        ran = await cli("show", "network", "12", "--json")
    assert (ran.code, ran.json["error"]) == (1, "unexpected error: KeyError")
    assert "LOCKTENDER_DEBUG=1" in ran.err
