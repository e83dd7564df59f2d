"""The servers beneath, killed or emptied while eight deployments are under way."""

import asyncio
from collections import Counter
from collections.abc import AsyncGenerator
from typing import Any

import pytest

from locktender.contracts.kernel.subjects import STREAMS
from locktender.testkit.nats_rig import eventually
from locktender.testkit.system import PATIENCE, SystemRig, running_system
from locktender.testkit.truth import assert_told_in_order, assert_true
from locktender.testkit.workloads import manifests, unique

pytestmark = [pytest.mark.timeout(240), pytest.mark.takes(seconds=60)]

_LIVE = 8


@pytest.fixture(scope="module")
async def module_rig() -> AsyncGenerator[SystemRig]:
    # With leases that outlast the restart of a server, an outage is no reason for a deployment to fail.
    async with running_system(lease_seconds=10) as rig:
        yield rig


@pytest.fixture
async def rig(module_rig: SystemRig) -> AsyncGenerator[SystemRig]:
    await module_rig.ready()
    yield module_rig
    assert await module_rig.violations() == []


async def test_all_streams_can_be_wiped_and_everything_completes_and_nothing_is_doubled(rig: SystemRig) -> None:
    load = await _load(rig)
    await _wipe(rig)
    load += await _load(rig)
    await _wipe(rig)
    assert await _ends(rig, load) == {"completed": 2 * _LIVE}


async def test_nats_can_be_killed_under_load_and_everything_completes(rig: SystemRig) -> None:
    load = await _load(rig)
    await rig.kill("nats")
    load += await _load(rig)
    assert await _ends(rig, load) == {"completed": 2 * _LIVE}


async def test_postgres_can_be_killed_under_load_and_every_task_tells_the_truth(rig: SystemRig) -> None:
    load = await _load(rig)
    await rig.kill("postgres")
    load += await _load(rig)
    ends = await _ends(rig, load)
    assert ends.total() == 2 * _LIVE
    # What was asked for after the crash has no excuse.
    assert ends["completed"] >= _LIVE, ends


async def _load(rig: SystemRig) -> list[str]:
    """Some deployments, the first of which is being applied; they take a while."""
    load: list[str] = []

    async def one(number: int) -> None:
        text = manifests(unique(), secret=number % 2 == 0, behaviour="slow:1")
        load.append(await rig.deploy(text))

    async with asyncio.TaskGroup() as group:
        for number in range(_LIVE):
            group.create_task(one(number))
    return load


async def _wipe(rig: SystemRig) -> None:
    """Delete every stream, and return when all of them are there again."""
    async with rig.bus() as bus:
        for spec in STREAMS:
            await bus.jetstream.delete_stream(spec.name)

        async def declared() -> bool:
            names = {info.config.name for info in await bus.jetstream.streams_info()}
            return names >= {spec.name for spec in STREAMS}

        await eventually(declared, PATIENCE)


async def _ends(rig: SystemRig, load: list[str]) -> Counter[str]:
    """How they ended, each of them checked."""
    ends: Counter[str] = Counter()
    for task in load:
        snapshot: dict[str, Any] = await rig.ended(task)
        ends[snapshot["task"]["status"]] += 1
        await assert_true(rig, snapshot)
        await assert_told_in_order(rig, task)
    return ends
