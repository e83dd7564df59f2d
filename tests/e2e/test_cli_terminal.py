"""The command line at a terminal: what is asked there, what is drawn there, and how to leave."""

import asyncio
import re
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from locktender.testkit.commands import run
from locktender.testkit.system import SystemRig, running_system
from locktender.testkit.terminal import at_terminal
from locktender.testkit.workloads import manifests, unique

pytestmark = [pytest.mark.timeout(240), pytest.mark.takes(seconds=50)]

CANARY = "canary-5512-password"


@pytest.fixture(scope="module")
async def rig() -> AsyncGenerator[SystemRig]:
    async with running_system(lease_seconds=10) as rig:
        yield rig


async def test_a_template_asks_for_its_inputs_in_order_and_is_followed_as_a_tree(rig: SystemRig) -> None:
    async with at_terminal(rig, "deploy", "--template", "guestbook", "--wait", "-p", "asked") as screen:
        await screen.until("replicas  How many copies of the front end run  (number, required)")
        await screen.until("replicas: 2")
        screen.clear_and_type("many")
        await screen.until("enter a number")
        await screen.fill(replicas="1")
        await screen.until("1) small")
        await screen.fill(size="2", expose="y", hostname="h.example.com", contact="")
        await screen.until("a value is needed")
        screen.type("a@example.com")
        await screen.until("(optional, not shown)")
        await screen.until("admin_password:")
        screen.type(CANARY)
        await screen.until("├─ ")
        assert await screen.ended() == 0
        assert "completed" in screen.text
        assert "└─ ✓ Apply the documents and wait until they are ready" in screen.text
        assert CANARY not in screen.raw
    task = (await run(rig, "deployments", "list", "-p", "asked", "--json")).json["tasks"][0]
    stored = (await run(rig, "deployments", "source", task["id"], "--json")).json["source"]
    assert stored["inputs"] == {
        "replicas": "1", "size": "medium", "expose": "true", "hostname": "h.example.com", "contact": "a@example.com",
    }  # fmt: skip


async def test_who_watches_a_deployment_that_asks_is_asked_right_there(rig: SystemRig) -> None:
    parked = await run(rig, "deploy", "--template", "guestbook", "--input", "expose=true", "--json")
    assert parked.code == 7, parked
    task = parked.json["task"]["id"]
    await rig.until(task, "blocked")
    async with at_terminal(rig, "deployments", "watch", task) as screen:
        await screen.until("needs input")
        await screen.until("needs values for: contact")
        await screen.fill(replicas=None, size=None, expose="y", hostname="h.example.com", contact="a@example.com")
        await screen.fill(admin_password=None)
        assert await screen.ended() == 0
        assert "completed" in screen.text


async def test_interrupting_a_watch_leaves_the_deployment_alone_and_says_how_to_stop_it(rig: SystemRig) -> None:
    text = manifests(unique(), behaviour="slow:600")
    task = (await run(rig, "deploy", "-f", "-", "--json", stdin=text)).json["task"]["id"]
    await rig.until(task, "applying")
    async with at_terminal(rig, "deployments", "watch", task, columns=60, rows=12) as screen:
        await screen.until("waits for the required resources")
        assert await screen.interrupt() == 130
        assert "detached; the deployment goes on" in screen.text
        assert f"locktender deployments cancel {task}" in screen.text.replace("\n", "")
        # The last picture is on its own lines, and none was wider than the terminal.
        drawn = [line for line in screen.text.splitlines() if line.startswith(("├─", "└─", "│  "))]
        assert drawn
        assert max(map(len, drawn)) <= 60
    assert (await rig.snapshot(task))["task"]["status"] == "applying"
    assert await rig.cancel(task)


@pytest.mark.parametrize(("columns", "rows"), [(40, 14), (120, 40)])
async def test_a_tree_is_drawn_over_itself_and_its_last_picture_is_whole(
    rig: SystemRig, tmp_path: Path, columns: int, rows: int
) -> None:
    file = tmp_path / "app.yaml"
    image = "Registry.example.com/a/rather/long/name/of/an/Image/that/cannot/be:v1"
    file.write_text(re.sub('registry.example.com/[^"]*', image, manifests(unique())), encoding="utf-8")
    async with at_terminal(rig, "deploy", "-f", str(file), "--wait", columns=columns, rows=rows) as screen:
        await screen.until("└─ ")
        await screen.until("└─ ")
        await screen.until("└─ ")
        assert [line[:3] for line in screen.picture].count("├─ ") <= 1
        assert await screen.ended() == 1
        steps = [line for line in screen.picture if line.startswith(("├─ ", "└─ "))]
        assert [line[3] for line in steps] == ["✓", "✗"]
        drawn = screen.picture[: screen.picture.index(next(line for line in screen.picture if "Try again" in line))]
        assert max(map(len, drawn[1:])) <= columns
        told = "".join(part for line in drawn for part in line.strip("│ ").split())
        assert told.count("cannot/be:v1ofcontainerweb") == 2
        assert "hint:writetheimageasregistry/repository:tag" in told


async def test_a_list_is_a_table_where_there_is_room_and_told_line_by_line_elsewhere(rig: SystemRig) -> None:
    async with at_terminal(rig, "templates", "list", columns=120) as screen:
        assert await screen.ended() == 0
        assert screen.picture[0].split()[:2] == ["name", "title"]
    async with at_terminal(rig, "templates", "list", columns=40) as screen:
        assert await screen.ended() == 0
        assert screen.picture[:2] == ["guestbook", "  title: Guestbook"]


async def test_interrupting_a_question_sends_nothing(rig: SystemRig) -> None:
    before = len((await run(rig, "deployments", "list", "--json")).json["tasks"])
    async with at_terminal(rig, "deploy", "--template", "guestbook") as screen:
        await screen.until("replicas: 2")
        assert await screen.interrupt() == 130
        assert "interrupted; no answer was sent" in screen.text
    assert len((await run(rig, "deployments", "list", "--json")).json["tasks"]) == before


async def test_overwriting_is_asked_about_once_and_no_is_an_answer(rig: SystemRig) -> None:
    text = manifests(unique(), behaviour="slow:600")
    task = (await run(rig, "deploy", "-f", "-", "--json", stdin=text)).json["task"]["id"]
    await rig.until(task, "applying")
    assert await rig.cancel(task)
    await rig.until(task, "cancelled")
    async with at_terminal(rig, "deployments", "redeploy", task) as screen:
        await screen.until("warning: ")
        await screen.until("go on? [y/N]")
        screen.type("")
        assert await screen.ended() == 130
        assert "nothing was deployed" in screen.text
    async with at_terminal(rig, "deployments", "redeploy", task, "--yes") as screen:
        await screen.until("deployment ")
        assert await screen.ended() == 0
        assert "[y/N]" not in screen.text
    new = (await rig.snapshot(task))["task"]["supersededBy"]
    assert new is not None
    await rig.until(new, "applying")
    assert await rig.cancel(new)


async def test_no_prompt_asks_nothing_and_no_color_colours_nothing(rig: SystemRig, tmp_path: Path) -> None:
    file = tmp_path / "app.yaml"
    file.write_text(manifests(unique()), encoding="utf-8")
    async with at_terminal(
        rig, "deploy", "--template", "guestbook", "--input", "expose=true", "--no-prompt", "--wait"
    ) as screen:
        assert await screen.ended() == 7
        assert "Go on with: locktender deployments input" in screen.text
    async with at_terminal(rig, "deploy", "-f", str(file), "--wait", NO_COLOR="1") as screen:
        await screen.until("├─ ")
        assert await screen.ended() == 0
        assert not re.search(r"\x1b\[(?:3[0-7]|9[0-7])m", screen.raw)
    async with at_terminal(rig, "deployments", "list", "--json", TERM="dumb") as screen, asyncio.timeout(60):
        assert await screen.ended() == 0
        assert "\x1b" not in screen.raw
