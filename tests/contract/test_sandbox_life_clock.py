"""The sandbox cluster on a clock that only the test moves: schedules, deadlines and forgetting take no real time."""

import itertools
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from typing import Any

import pytest

from locktender.embedded.cluster.cluster import Cluster
from locktender.embedded.cluster.controllers.schedule import parse
from locktender.testkit.clock import FakeClock
from locktender.testkit.cluster import SandboxCluster, sandbox_cluster
from locktender.testkit.cluster_rig import (
    APPS,
    BATCH,
    CORE,
    change,
    condition,
    containers,
    create,
    deployment,
    is_ready,
    pod,
    waiting,
)


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
async def cluster(clock: FakeClock) -> AsyncIterator[SandboxCluster]:
    async with sandbox_cluster(cluster=Cluster(clock=clock), pace=1) as running:
        yield running


async def read(cluster: SandboxCluster, path: str) -> dict[str, Any]:
    return (await cluster.request("GET", path))[1]


def cron_job(schedule: str, **spec: Any) -> dict[str, Any]:
    template = {"spec": {"template": {"spec": pod("tick", restartPolicy="Never")["spec"]}}}
    return {"metadata": {"name": "tick"}, "spec": {"schedule": schedule, "jobTemplate": template} | spec}


async def test_nothing_happens_while_the_clock_stands_still(cluster: SandboxCluster, clock: FakeClock) -> None:
    born = await create(cluster, f"{CORE}/pods", pod("web"))
    assert born["metadata"]["creationTimestamp"] == "2030-01-01T00:00:00Z"
    await clock.elapse(0)
    assert not is_ready(await read(cluster, f"{CORE}/pods/web"))

    await clock.elapse(5)
    assert is_ready(await read(cluster, f"{CORE}/pods/web"))


async def test_a_cron_job_starts_its_jobs_on_the_minute_and_keeps_the_last_three(
    cluster: SandboxCluster, clock: FakeClock
) -> None:
    await create(cluster, f"{BATCH}/cronjobs", cron_job("*/10 * * * *"))
    await clock.elapse(599)
    assert (await read(cluster, f"{BATCH}/jobs"))["items"] == []

    await clock.elapse(2)
    found = await read(cluster, f"{BATCH}/cronjobs/tick")
    assert found["status"]["lastScheduleTime"] == "2030-01-01T00:10:00Z"
    assert [job["name"] for job in found["status"]["active"]] == ["tick-31557610"]
    await clock.elapse(60)
    done = await read(cluster, f"{BATCH}/cronjobs/tick")
    assert "active" not in done["status"]
    assert done["status"]["lastSuccessfulTime"] >= "2030-01-01T00:10:00Z"
    await clock.elapse(3600)
    assert len((await read(cluster, f"{BATCH}/jobs"))["items"]) == 3


async def test_a_suspended_cron_job_starts_nothing(cluster: SandboxCluster, clock: FakeClock) -> None:
    await create(cluster, f"{BATCH}/cronjobs", cron_job("* * * * *", suspend=True))
    await clock.elapse(300)
    assert (await read(cluster, f"{BATCH}/jobs"))["items"] == []

    await change(cluster, f"{BATCH}/cronjobs/tick", {"spec": {"suspend": False}})
    await clock.elapse(61)
    assert (await read(cluster, f"{BATCH}/jobs"))["items"]


async def test_a_job_that_still_runs_forbids_the_next(cluster: SandboxCluster, clock: FakeClock) -> None:
    body = cron_job("* * * * *", concurrencyPolicy="Forbid")
    body["spec"]["jobTemplate"]["spec"]["template"]["spec"] = pod("x", image="x:does-not-exist", restartPolicy="Never")[
        "spec"
    ]
    await create(cluster, f"{BATCH}/cronjobs", body)
    await clock.elapse(300)

    assert len((await read(cluster, f"{BATCH}/jobs"))["items"]) == 1


@pytest.mark.parametrize(
    ("text", "following"),
    [
        ("0 0 * * *", "2030-01-02 00:00"),
        ("15,45 8-10 * * mon-fri", "2030-01-01 08:15"),
        ("0 12 31 * *", "2030-01-31 12:00"),
        ("0 0 29 feb *", "2032-02-29 00:00"),
        ("0 0 13 * fri", "2030-01-04 00:00"),
        ("@hourly", "2030-01-01 01:00"),
        ("0 0 31 feb *", None),
    ],
)
def test_a_schedule_says_when_it_is_due_next(text: str, following: str | None) -> None:
    schedule = parse(text)
    assert schedule is not None
    due = schedule.after(datetime(2030, 1, 1, tzinfo=UTC))
    assert (due.strftime("%Y-%m-%d %H:%M") if due else None) == following


@pytest.mark.parametrize("text", ["", "* * * *", "60 * * * *", "*/0 * * * *", "5-1 * * * *", "a * * * *"])
def test_a_schedule_that_makes_no_sense_is_none(text: str) -> None:
    assert parse(text) is None


async def test_events_are_forgotten_an_hour_after_they_happened_last(cluster: SandboxCluster, clock: FakeClock) -> None:
    await create(cluster, f"{CORE}/pods", pod("web"))
    await clock.elapse(10)
    assert (await read(cluster, f"{CORE}/events"))["items"]

    await clock.elapse(3590)
    await create(cluster, f"{CORE}/pods", pod("late"))
    await clock.elapse(20)
    about = {row["involvedObject"]["name"] for row in (await read(cluster, f"{CORE}/events"))["items"]}
    assert about == {"late"}


async def test_back_off_grows_between_restarts(cluster: SandboxCluster, clock: FakeClock) -> None:
    await create(cluster, f"{CORE}/pods", pod("web", behaviour="crash-loop"))
    restarts: list[int] = []
    for _ in range(4):
        await clock.elapse(15)
        restarts.append(containers(await read(cluster, f"{CORE}/pods/web"))[0]["restartCount"])
    steps = [later - sooner for sooner, later in itertools.pairwise(restarts)]

    assert restarts[0] >= 2
    assert steps == sorted(steps, reverse=True)
    assert waiting(await read(cluster, f"{CORE}/pods/web")).get("reason") in ("CrashLoopBackOff", None)


async def test_a_slow_rollout_passes_its_deadline_and_recovers(cluster: SandboxCluster, clock: FakeClock) -> None:
    body = deployment("web", behaviour="slow:300")
    body["spec"]["progressDeadlineSeconds"] = 120
    await create(cluster, f"{APPS}/deployments", body)
    await clock.elapse(130)
    late = await read(cluster, f"{APPS}/deployments/web")
    assert condition(late, "Progressing")["reason"] == "ProgressDeadlineExceeded"

    await clock.elapse(200)
    done = await read(cluster, f"{APPS}/deployments/web")
    assert condition(done, "Progressing")["reason"] == "NewReplicaSetAvailable"
