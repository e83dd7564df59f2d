"""Services killed at random while eight deployments are under way, some of them cancelled, asking or redeployed.

`LOCKTENDER_CHAOS=long` repeats it with other seeds; `LOCKTENDER_CHAOS_SEED=N` runs one seed again.
"""

import asyncio
import os
import random
import signal
from collections import Counter
from collections.abc import AsyncGenerator

import pytest

from locktender.testkit.canaries import Cage, Canary, token
from locktender.testkit.lineages import answer, deploy_template, instances, parked, redeploy
from locktender.testkit.searching import at_rest
from locktender.testkit.system import SystemRig, running_system
from locktender.testkit.truth import assert_told_in_order, assert_true
from locktender.testkit.workloads import manifests, template, unique

_LONG = os.environ.get("LOCKTENDER_CHAOS") == "long"
_GIVEN = os.environ.get("LOCKTENDER_CHAOS_SEED")
_SEEDS = [int(_GIVEN)] if _GIVEN else range(1, 21) if _LONG else [1]
_SECONDS = 120.0 if _LONG else 15.0
_LIVE, _ASKING = 8, 3
"""How many deploy again and again, and how many of them deploy templates that ask, and redeploy what fails."""
_PASSWORD = token("storm")
# An API takes the credentials of all waiting tasks with it, so little else would happen if it died as often.
_TARGETS = {"runner": 4, "outbox": 3, "reaper": 2, "cleanup": 1, "api": 1}

pytestmark = [pytest.mark.timeout(_SECONDS + 300), pytest.mark.takes(seconds=45)]


@pytest.fixture(scope="module")
async def rig() -> AsyncGenerator[SystemRig]:
    async with running_system() as rig:
        yield rig


@pytest.mark.parametrize("seed", _SEEDS)
async def test_whatever_dies_every_task_ends_and_tells_the_truth(rig: SystemRig, seed: int) -> None:
    await rig.ready()
    storm = _Storm(rig, random.Random(seed))  # noqa: S311 - a storm that can be repeated
    try:
        await storm.blow(_SECONDS)
        ends = await storm.settle()
        calm = await rig.ended(await rig.deploy(manifests(unique(), secret=True)))
        assert calm["task"]["status"] == "completed", f"the storm left something behind: {calm['task']}"
        assert await rig.violations() == []
        assert await at_rest(rig, Cage([Canary("password", _PASSWORD)])) == []
    except BaseException as error:
        again = f"LOCKTENDER_CHAOS_SEED={seed} python -m pytest tests/chaos/test_random_kills.py"
        error.add_note(f"seed {seed}; killed, in this order: {' '.join(storm.killed)}\nagain: {again}")
        raise
    print(f"seed {seed}: {len(storm.killed)} kills, {ends.total()} tasks: {dict(ends)}")  # noqa: T201 - the figures


class _Storm:
    def __init__(self, rig: SystemRig, chance: random.Random) -> None:
        self._rig = rig
        self._chance = chance
        self._over = asyncio.Event()
        self._tasks: dict[str, bool] = {}
        """Every task, and whether a cancel of it was accepted."""
        self._chains: dict[str, list[str]] = {}
        """The tasks of each chain of redeploys, by the stem of its names."""
        self.killed: list[str] = []

    async def blow(self, seconds: float) -> None:
        async with asyncio.TaskGroup() as group:
            for number in range(_LIVE):
                own = random.Random(self._chance.random())  # noqa: S311 - as above
                live = self._redeploy_again_and_again if number < _ASKING else self._deploy_again_and_again
                group.create_task(live(own, number))
            end = asyncio.get_running_loop().time() + seconds
            while asyncio.get_running_loop().time() < end:
                await self._kill(self._chance.choices(list(_TARGETS), list(_TARGETS.values()))[0])
            self._over.set()

    async def settle(self) -> Counter[str]:
        """Check every task of the storm, once the last service is back."""
        await self._rig.ready()
        ends: Counter[str] = Counter()
        for task, cancelled in self._tasks.items():
            snapshot = await self._rig.ended(task)
            status = snapshot["task"]["status"]
            assert not cancelled or status == "cancelled", f"a cancel was accepted: {snapshot['task']}"
            ends[snapshot["task"]["failure"]["reason"] if status == "failed" else status] += 1
            await assert_true(self._rig, snapshot)
            await assert_told_in_order(self._rig, task)
        for stem, chain in self._chains.items():
            named = {(await self._rig.snapshot(task))["task"]["instance"] for task in chain} - {None}
            assert len(named) <= 1, f"a chain of redeploys took several names: {named}"
            assert {*await instances(self._rig, stem)} <= named, f"a second instance came: {stem}, named {named}"
        return ends

    async def _deploy_again_and_again(self, chance: random.Random, number: int) -> None:
        while not self._over.is_set():
            slow = f"slow:{chance.uniform(0, 3):.1f}"
            task = await self._rig.deploy(manifests(unique(), secret=number % 2 == 0, behaviour=slow))
            self._tasks[task] = False
            if chance.random() < 0.25:
                await asyncio.sleep(chance.uniform(0, 2))
                self._tasks[task] = await self._rig.cancel(task)
            await self._rig.ended(task)

    async def _redeploy_again_and_again(self, chance: random.Random, number: int) -> None:
        given = {"admin_password": _PASSWORD, "behaviour": f"slow:{chance.uniform(0, 3):.1f}"}
        while not self._over.is_set():
            stem = unique(f"asks{number}")
            task = await deploy_template(self._rig, template(stem))
            self._chains[stem] = [task]
            while True:
                self._tasks[task] = False
                # An API that dies takes values with it that no run has read yet; then they are asked for once more.
                while (await parked(self._rig, task))["task"]["status"] == "blocked":
                    await answer(self._rig, task, given)
                    if chance.random() < 0.25:
                        self._tasks[task] = await self._rig.cancel(task)
                if (await self._rig.ended(task))["task"]["status"] == "completed" or self._over.is_set():
                    break
                task = await redeploy(self._rig, task, given if chance.random() < 0.5 else {})
                self._chains[stem].append(task)

    async def _kill(self, name: str) -> None:
        """Let some work happen, then kill; now and then the next one goes down before this one is back."""
        await asyncio.sleep(self._chance.uniform(0.2, 2.0))
        alone = self._chance.random() < 0.7
        if self._rig.pid(name) is not None:
            self.killed.append(name)
            former = self._rig.signal(name, signal.SIGKILL)
            if alone:
                await self._rig.replaced(name, former)
