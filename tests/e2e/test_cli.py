"""The commands as a person or a script runs them: real processes, their JSON and their exit codes."""

import asyncio
import os
from collections.abc import AsyncGenerator
from pathlib import Path
from uuid import uuid4

import pytest

from locktender.testkit.commands import ended, run, started
from locktender.testkit.system import SystemRig, running_system
from locktender.testkit.workloads import manifests, unique

pytestmark = [pytest.mark.timeout(240), pytest.mark.takes(seconds=45)]

_EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.fixture(scope="module")
async def rig() -> AsyncGenerator[SystemRig]:
    async with running_system(lease_seconds=10) as rig:
        yield rig


@pytest.fixture(scope="module", autouse=True)
async def broken(rig: SystemRig) -> AsyncGenerator[asyncio.subprocess.Process]:
    """A deployment that fails once its image has been missing for long enough; meanwhile the other tests run."""
    process = await started(rig, "deploy", "-f", str(_EXAMPLES / "broken-image.yaml"), "--wait", "--json")
    yield process
    if process.returncode is None:
        process.kill()
        await process.communicate()


async def test_a_real_application_is_deployed_and_can_be_looked_at(rig: SystemRig) -> None:
    deployed = await run(rig, "deploy", "-f", str(_EXAMPLES / "guestbook.yaml"), "-p", "guests", "--wait", "--json")
    assert deployed.code == 0, deployed
    task = deployed.json["task"]
    assert (task["status"], task["displayName"], task["createdFrom"]) == ("completed", "guestbook", "cli")
    assert {card["status"] for card in deployed.json["timeline"]["cards"]} == {"running"}

    listed = await run(rig, "deployments", "list", "-p", "guests", "--json")
    assert (listed.code, [each["id"] for each in listed.json["tasks"]]) == (0, [task["id"]])
    shown = await run(rig, "deployments", "show", task["id"], "--json")
    assert (shown.code, shown.json["task"]) == (0, task)
    told = await run(rig, "events", task["id"], "--json")
    assert told.code == 0
    assert [event["revision"] for event in told.lines] == list(range(1, task["revision"] + 1))
    assert (told.lines[0]["kind"], told.lines[-1]["kind"]) == ("created", "completed")
    verified = await run(rig, "ops", "verify", "--json")
    assert (verified.code, verified.json) == (0, {"ok": True, "violations": []}), verified


async def test_people_read_the_same_without_json(rig: SystemRig) -> None:
    deployed = await run(rig, "deploy", "-f", "-", "-p", "people", "--name", "Tea", "--wait", stdin=manifests(unique()))
    assert deployed.code == 0, deployed
    assert "completed" in deployed.out
    task = (await run(rig, "deployments", "list", "-p", "people", "--json")).json["tasks"][0]
    for command in (("deployments", "list"), ("deployments", "show", task["id"]), ("events", task["id"])):
        ran = await run(rig, *command)
        assert ran.code == 0, ran
        assert "Tea" in ran.out or "created" in ran.out, ran
    assert "I01" in (await run(rig, "ops", "verify")).out


async def test_a_cancelled_deployment_ends_its_watcher_with_1_and_cannot_be_undone(rig: SystemRig) -> None:
    text = manifests(unique(), behaviour="slow:900")
    task = (await run(rig, "deploy", "-f", "-", "--json", stdin=text)).json["task"]
    await rig.until(task["id"], "applying")
    async with asyncio.TaskGroup() as group:
        watching = group.create_task(run(rig, "deployments", "watch", task["id"], "--json"))
        cancelled = await run(rig, "deployments", "cancel", task["id"], "--json")
    assert cancelled.code == 0, cancelled
    assert cancelled.json["task"]["cancelRequestedBy"], cancelled
    watched = watching.result()
    assert (watched.code, watched.lines[-1]["task"]["status"]) == (1, "cancelled")
    again = await run(rig, "deployments", "cancel", task["id"], "--json")
    assert (again.code, again.json["task"]["status"]) == (0, "cancelled")


async def test_the_same_key_never_deploys_twice_and_another_request_under_it_is_a_conflict(rig: SystemRig) -> None:
    name, key = unique(), uuid4().hex
    first = await run(rig, "deploy", "-f", "-", "--idempotency-key", key, "--wait", "--json", stdin=manifests(name))
    second = await run(rig, "deploy", "-f", "-", "--idempotency-key", key, "--wait", "--json", stdin=manifests(name))
    assert (first.code, second.code) == (0, 0), (first, second)
    assert first.json["task"]["id"] == second.json["task"]["id"]
    other = await run(rig, "deploy", "-f", "-", "--idempotency-key", key, "--json", stdin=manifests(unique()))
    assert (other.code, other.json["exitCode"]) == (4, 4), other
    late = await run(rig, "deployments", "cancel", first.json["task"]["id"], "--json")
    assert late.code == 4, late


async def test_input_that_cannot_be_understood_ends_with_2(rig: SystemRig) -> None:
    half = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x"
    refused = await run(rig, "deploy", "-f", "-", "--json", stdin=half)
    assert (refused.code, refused.json["exitCode"]) == (2, 2), refused
    for command in (("deploy",), ("deploy", "-f", "/nowhere/to/be/found.yaml"), ("demo", "--scenario", "unknown")):
        ran = await run(rig, *command)
        assert ran.code == 2, ran


async def test_what_is_denied_or_not_there_ends_with_3(rig: SystemRig) -> None:
    for command in (
        ("deployments", "show", str(uuid4()), "--json"),
        ("deployments", "cancel", str(uuid4()), "--json"),
        ("deployments", "list", "--token", "wrong", "--json"),
    ):
        ran = await run(rig, *command)
        assert (ran.code, ran.json["exitCode"]) == (3, 3), ran


async def test_the_exit_codes_are_documented_where_people_look(rig: SystemRig) -> None:
    said = " ".join((await run(rig, "--help")).out.split())
    assert "0 ok, 1 the deployment failed, 2 usage, 3 denied or not found, 4 conflict, 5 unavailable" in said


async def test_an_api_that_does_not_answer_ends_with_5(rig: SystemRig, tmp_path: Path) -> None:
    nowhere = await run(rig, "deployments", "list", "--json", LOCKTENDER_STATE=str(tmp_path))
    assert (nowhere.code, nowhere.json["exitCode"]) == (5, 5), nowhere
    away = await run(rig, "deployments", "list", "--url", "http://127.0.0.1:9", "--token", "x", "--json")
    assert away.code == 5, away


async def test_what_is_wrong_with_the_options_is_told_without_an_api(rig: SystemRig, tmp_path: Path) -> None:
    nowhere = {"LOCKTENDER_STATE": str(tmp_path)}
    assert (await run(rig, "deploy", "--json", **nowhere)).json["error"] == "nothing to deploy"
    endless = await run(rig, "deploy", "-f", "/dev/zero", **nowhere)
    assert (endless.code, "larger than 32 MiB" in endless.err) == (2, True), endless
    bad = await run(rig, "deployments", "list", "--url", "nonsense", "--token", "x", **nowhere)
    assert (bad.code, "nonsense is no URL of an API" in bad.err) == (2, True), bad
    silent = await run(rig, "deploy", "--template", "guestbook", "--input-stdin", "admin_password", **nowhere)
    assert (silent.code, "standard input brought no value" in silent.err) == (2, True), silent


async def test_a_refusal_names_the_field_and_an_unknown_id_where_to_look(rig: SystemRig) -> None:
    wrong = await run(rig, "deploy", "-f", "-", "-n", "Not A Name", "--json", stdin=manifests(unique()))
    assert wrong.json["error"].startswith("/target/namespace: use lower-case letters"), wrong
    unknown = await run(rig, "deployments", "show", "../templates/guestbook", "--json")
    assert (unknown.code, "locktender deployments list" in unknown.json["hint"]) == (3, True), unknown
    for key in ("ключ", "a\nb"):
        refused = await run(rig, "deploy", "-f", "-", "--idempotency-key", key, stdin=manifests(unique()))
        assert refused.code == 2, refused


@pytest.mark.parametrize("form", [(), ("--json",)])
async def test_a_reader_that_goes_away_ends_a_command_like_any_other_program(
    rig: SystemRig, form: tuple[str, ...]
) -> None:
    read, write = os.pipe()
    os.close(read)
    process = await started(rig, "templates", "list", *form, stdout=write)
    os.close(write)
    assert (await ended(process)).code == 141


async def test_a_deployment_that_fails_ends_the_command_with_1(
    rig: SystemRig, broken: asyncio.subprocess.Process
) -> None:
    failed = await ended(broken)
    assert failed.code == 1, failed
    failure = failed.json["task"]["failure"]
    assert failure["reason"] == "resource-failed"
    assert "does-not-exist" in failure["message"] + str(failure.get("detail")), failure
    watched = await run(rig, "deployments", "watch", failed.json["task"]["id"], "--json")
    assert (watched.code, watched.lines[-1]["task"]["status"]) == (1, "failed")


async def test_a_second_system_in_the_same_folder_is_refused_with_a_reason(rig: SystemRig) -> None:
    second = await run(rig, "up")
    assert second.code == 1, second
    assert "error:" in second.err, second
    assert await rig.violations() == []
