"""The runner as a process, and the no-op runner of benchmarks."""

import asyncio
import os
import signal
import sys
from collections.abc import AsyncGenerator
from typing import Any

import pytest

from locktender.runner.app import serve
from locktender.runner.settings import RunnerSettings
from locktender.testkit.cluster import sandbox_cluster
from locktender.testkit.database import TestDatabase
from locktender.testkit.runner import TaskBench, config_maps, deployment, task_bench
from locktender.testkit.servers import NatsServer


@pytest.fixture
async def bench(db: TestDatabase, nats_server: NatsServer) -> AsyncGenerator[TaskBench]:
    async with task_bench(db, nats_server) as made:
        yield made


def environment(bench: TaskBench, **stated: str) -> dict[str, str]:
    seed = bench.nats.seeds.get("runner")
    return {
        "PATH": os.defpath,
        "LOCKTENDER_DATABASE_URL": bench.db.dsn,
        "LOCKTENDER_NATS_URL": bench.nats.url,
        **({"LOCKTENDER_NATS_SEED_FILE": str(seed)} if seed else {}),
        **stated,
    }


async def runner(bench: TaskBench, **stated: str) -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(
        sys.executable, "-m", "locktender.runner", env=environment(bench, **stated), stdout=asyncio.subprocess.PIPE
    )


async def output(process: asyncio.subprocess.Process) -> tuple[int, str]:
    async with asyncio.timeout(30):
        out, _ = await process.communicate()
    return process.returncode or 0, out.decode()


async def test_a_process_deploys_and_ends_its_runs_when_it_is_told_to_stop(bench: TaskBench) -> None:
    async with sandbox_cluster() as cluster:
        process = await runner(bench)
        try:
            done = await bench.deploy(config_maps(2), kubeconfig=cluster.kubeconfig)
            assert (await bench.ended(done)).status == "completed"
            waiting = await bench.deploy(deployment("web", behaviour="never-ready"), kubeconfig=cluster.kubeconfig)
            await bench.until(waiting, lambda seen: seen.row.task.phase == "verify")
        finally:
            process.send_signal(signal.SIGTERM)
            code, said = await output(process)
        assert code == 0, said
        assert (await bench.seen(waiting)).failure["detail"] == "shutdown"
        assert cluster.token not in said


async def test_a_process_without_its_database_says_so_and_ends_with_5(bench: TaskBench) -> None:
    process = await runner(bench, LOCKTENDER_DATABASE_URL="postgresql://lt:pw@127.0.0.1:1/none")
    code, said = await output(process)
    assert code == 5
    assert "cannot connect to the database" in said


async def test_a_process_without_settings_names_them_and_ends_with_2(bench: TaskBench) -> None:
    del bench
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "locktender.runner", env={"PATH": os.defpath}, stderr=asyncio.subprocess.PIPE
    )
    async with asyncio.timeout(30):
        _, said = await process.communicate()
    assert process.returncode == 2
    assert "LOCKTENDER_DATABASE_URL" in said.decode()


def settings(bench: TaskBench, **stated: Any) -> RunnerSettings:
    return RunnerSettings(
        database_url=bench.db.dsn,  # pyright: ignore[reportArgumentType]  # pydantic wraps it
        nats_url=bench.nats.url,
        instance="runner-1",
        **stated,
    )


async def test_a_no_op_task_passes_through_every_transition(bench: TaskBench) -> None:
    async with bench.service("runner", serve, settings(bench, noop_runner=True)):
        ended = [await bench.ended(task) for task in [await bench.noop() for _ in range(20)]]
    assert {seen.status for seen in ended} == {"completed"}
    assert {tuple(seen.kinds) for seen in ended} == {("created", "started", "applying", "completed")}


async def test_no_op_tasks_are_taken_only_where_that_is_allowed(bench: TaskBench) -> None:
    async with bench.service("runner", serve, settings(bench)):
        task = await bench.noop()
        async with sandbox_cluster() as cluster:
            await bench.ended(await bench.deploy(config_maps(1), kubeconfig=cluster.kubeconfig))
        assert (await bench.seen(task)).status == "queued"


async def test_a_task_of_another_kind_behind_a_forged_hint_fails_and_says_why(bench: TaskBench) -> None:
    async with bench.service("runner", serve, settings(bench)):
        task = await bench.noop()
        await bench.hint(task, "direct")
        ended = await bench.ended(task)
    assert (ended.failure["reason"], ended.failure["message"]) == (
        "runner-error",
        "this runner cannot carry out tasks of kind noop",
    )


async def test_a_runner_is_ready_when_it_has_its_database_its_bus_and_its_consumers(bench: TaskBench) -> None:
    async with bench.service("runner", serve, settings(bench, noop_runner=True)) as running:
        await bench.ended(await bench.noop())
        report = await running.health.report()
        assert report.ready, report.faults
        assert set(report.passed) == {"database", "leases", "runner-direct", "runner-template", "runner-noop"}
