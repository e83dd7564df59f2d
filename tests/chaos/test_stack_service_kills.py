"""Services killed at random while people deploy stacks: each create makes one deployment, each of them has a true end.

With `LOCKTENDER_CHAOS=long` alone: an ordinary run kills connections in `test_stack_storms`, and runners at chosen
moments in `test_stack_runner_kills`. `LOCKTENDER_CHAOS_SEED=N` runs one storm again.
"""

import asyncio
import os
import random
from collections import Counter
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from locktender.testkit.git_repository import Repository
from locktender.testkit.nats_rig import eventually
from locktender.testkit.stack_truth import broken_rules
from locktender.testkit.system import SystemRig, running_system

_LONG = os.environ.get("LOCKTENDER_CHAOS") == "long"
_SEED = int(os.environ.get("LOCKTENDER_CHAOS_SEED") or 3)
_STACKS, _CREATES, _KILLS = (8, 20, 60) if _LONG else (3, 3, 5)
_SETTLED = 600.0 if _LONG else 120.0
_TARGETS = {"runner": 3, "api": 2, "outbox": 1, "reaper": 1}
_ENDED = {"finished", "failed", "cancelled", "skipped"}
_CONFIGURATION = 'resource "terraform_data" "one" {}\n'

pytestmark = [
    pytest.mark.timeout(1800 if _LONG else 300),
    pytest.mark.takes(seconds=40),
]


@pytest.fixture(scope="module")
async def rig() -> AsyncGenerator[SystemRig]:
    async with running_system() as rig:
        yield rig


async def test_whatever_dies_every_deployment_of_a_stack_ends_and_none_is_made_twice(
    rig: SystemRig, tmp_path: Path
) -> None:
    dice = random.Random(_SEED)  # noqa: S311 - a storm that can be told again
    repository = Repository.made(tmp_path / "infra")
    repository.commit(_CONFIGURATION, "first")
    stacks = [f"net-{number}" for number in range(_STACKS)]
    for name in stacks:
        source = {"kind": "git", "url": repository.url, "ref": "main"}
        await _sent(rig, "POST", "/v1/workspaces/main/stacks", {"name": name, "source": source})
    killed: list[str] = []
    async with asyncio.TaskGroup() as group:
        for name in stacks:
            group.create_task(_live(rig, name, random.Random(dice.random())))  # noqa: S311 - as above
        for _ in range(_KILLS):
            killed += dice.choices(list(_TARGETS), list(_TARGETS.values()))
            await rig.kill(killed[-1])
            await asyncio.sleep(dice.uniform(0, 1))
    ends: Counter[str] = Counter()
    for name in stacks:
        listed = await _deployments(rig, name)
        assert [each["number"] for each in listed] == list(range(_CREATES, 0, -1)), (killed, listed)
        for each in listed:
            assert each["status"] != "failed" or each["failure"]["reason"] in {"lost", "internal"}, each["failure"]
            ends[each["failure"]["reason"] if each["failure"] else each["status"]] += 1
        stack = (await rig.ask("GET", _at(name))).json()
        assert (stack["uncertain"], stack["stateLock"], stack["lane"]) == (None, None, None), "plans change nothing"
    async with rig.sql() as connection:
        assert await broken_rules(connection) == []
    calm = await _sent(rig, "POST", _at(stacks[0], "/deployments"), {})
    assert (await _until(rig, stacks[0], calm["number"], {"waiting", *_ENDED}))["status"] == "waiting"
    print(f"seed {_SEED}: killed {' '.join(killed)}: {dict(ends)}")  # noqa: T201 - the figures


async def _live(rig: SystemRig, name: str, dice: random.Random) -> None:
    """Ask for all deployments, and answer every plan with a skip until all have ended."""
    for _ in range(_CREATES):
        await _sent(rig, "POST", _at(name, "/deployments"), {}, **{"Idempotency-Key": uuid4().hex})
        await asyncio.sleep(dice.uniform(0, 0.5))

    async def over() -> bool:
        listed = await _deployments(rig, name)
        for each in listed:
            if each["status"] == "waiting":
                # Another answer than yes may come where a command was heard whose answer was lost.
                answer = await rig.ask("POST", _at(name, f"/deployments/{each['number']}/skip"), json={})
                assert answer.status_code in {200, 409}, answer.text
        await asyncio.sleep(0.3)
        return all(each["status"] in _ENDED for each in listed)

    try:
        await eventually(over, _SETTLED)
    except TimeoutError:
        raise AssertionError(f"not over: {await _deployments(rig, name)}") from None


async def _until(rig: SystemRig, name: str, number: int, statuses: set[str]) -> dict[str, Any]:
    latest: dict[str, Any] = {}

    async def there() -> bool:
        nonlocal latest
        latest = (await rig.ask("GET", _at(name, f"/deployments/{number}"))).json()
        await asyncio.sleep(0.2)
        return latest["status"] in statuses

    await eventually(there, _SETTLED)
    return latest


async def _deployments(rig: SystemRig, name: str) -> list[dict[str, Any]]:
    answer = await rig.ask("GET", _at(name, "/deployments"))
    assert answer.is_success, answer.text
    return answer.json()["deployments"]


async def _sent(rig: SystemRig, method: str, place: str, body: dict[str, Any], **headers: str) -> dict[str, Any]:
    answer = await rig.ask(method, place, json=body, headers=headers)
    assert answer.is_success, (place, answer.text)
    return answer.json()


def _at(name: str, rest: str = "") -> str:
    return f"/v1/workspaces/main/stacks/{name}{rest}"
