"""Whatever a cluster says about a secret value, and however it spells it: nothing of it leaves the run."""

import base64
import json
import logging
from collections.abc import AsyncGenerator, Iterator
from contextlib import redirect_stdout
from io import StringIO
from typing import Any
from urllib.parse import quote
from uuid import UUID

import pytest
import structlog

from locktender.runner.app import serve
from locktender.runner.settings import RunnerSettings
from locktender.runtime.logs import configure_logs
from locktender.testkit.api import RunningApi, running_api
from locktender.testkit.canaries import Cage, Canary, awkward, short, token
from locktender.testkit.cluster import SandboxCluster
from locktender.testkit.database import TestDatabase
from locktender.testkit.runner import TaskBench, config_maps, deployment, task_bench
from locktender.testkit.servers import NatsServer

TABLES = ("deployment_task", "deployment_event", "deployment_plan", "outbox", "inbox", "cleanup_job")
PLAIN, AWKWARD, SHORT, LINED = token("plain"), awkward("awkward"), short(), f"{short()}\n{short()}\n"
CANARIES = [
    Canary("plain", PLAIN),
    Canary("the beginning of plain", PLAIN[:10]),
    Canary("awkward", AWKWARD),
    Canary("short", SHORT),
    *(Canary(f"line {number}", line) for number, line in enumerate(LINED.split())),
]
SPELLED: dict[str, str] = {
    "raw": f"denied: {PLAIN} {AWKWARD} {SHORT} {LINED}",
    "JSON": json.dumps([PLAIN, AWKWARD, SHORT, LINED]),
    "JSON within JSON": json.dumps(json.dumps({"values": [PLAIN, AWKWARD, SHORT, LINED]})),
    "base64 inside of more": base64.b64encode(f"x{PLAIN};{SHORT}:{AWKWARD}|{LINED}".encode()).decode(),
    "base64 for URLs": base64.urlsafe_b64encode(f"xy{PLAIN};{SHORT}:{AWKWARD}|{LINED}".encode()).decode().rstrip("="),
    "URL": f"https://hook.example/?v={quote(PLAIN, safe='')}&w={quote(AWKWARD)}&x={SHORT}&y={quote(LINED)}",
    "cut off by the length of a message": f"a word and {PLAIN * 60}",
}


@pytest.fixture
async def bench(db: TestDatabase, nats_server: NatsServer) -> AsyncGenerator[TaskBench]:
    async with task_bench(db, nats_server) as made:
        yield made


@pytest.fixture
async def api(db: TestDatabase, nats_server: NatsServer) -> AsyncGenerator[RunningApi]:
    async with running_api(db, nats_server) as running:
        yield running


@pytest.fixture(autouse=True)
def logs() -> Iterator[None]:
    root = logging.getLogger()
    handlers, level = root.handlers, root.level
    yield
    structlog.reset_defaults()
    root.handlers, root.level = handlers, level


def settings(bench: TaskBench) -> RunnerSettings:
    return RunnerSettings(database_url=bench.db.dsn, nats_url=bench.nats.url, instance="runner-1", drain_seconds=8)


def secret(name: str) -> str:
    values = {"plain": PLAIN, "awkward": AWKWARD, "short": SHORT, "lined": LINED}
    body = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}, "stringData": values}
    return f"---\n{json.dumps(body)}\n"


async def everything(bench: TaskBench, api: RunningApi, task: UUID) -> list[tuple[str, str]]:
    """All that is stored, and all that the API says."""
    found: list[tuple[str, str]] = []
    for table in TABLES:
        if await bench.db.admin.fetchval("select to_regclass($1)", f"locktender.{table}"):
            lines = await bench.db.admin.fetch(f"select t::text as line from locktender.{table} t")  # noqa: S608 - ours
            found += [(table, row["line"]) for row in lines]
    for rest in (f"/{task}", f"/{task}/events", f"/{task}/plan", ""):
        found.append((rest, (await api.http.get(api.path(rest))).text))
    return found


def leaks(found: list[tuple[str, str]], cage: Cage) -> list[Any]:
    return sorted({(hit.canary, hit.form, place) for place, text in found for hit in cage.text(place, text)})


@pytest.mark.parametrize("spelling", SPELLED)
@pytest.mark.parametrize("when", ["while planning", "while applying"])
async def test_words_of_the_cluster_are_repeated_without_the_values(
    bench: TaskBench, api: RunningApi, cluster: SandboxCluster, spelling: str, when: str
) -> None:
    fault = {"verb": "patch", "name": "c0", "status": 422, "message": SPELLED[spelling]}
    by = [{"verb": "patch", "name": "c0", "count": 1}] if when == "while applying" else []
    await cluster.faults(*by, fault)
    said = StringIO()
    with redirect_stdout(said):
        configure_logs("runner", "runner-1", level="debug")
        async with bench.service("runner", serve, settings(bench)):
            task = await bench.deploy(secret("key") + config_maps(1), kubeconfig=cluster.kubeconfig)
            ended = await bench.ended(task)
    assert ended.status == "failed"
    found = [*await everything(bench, api, task), ("log", said.getvalue())]
    assert leaks(found, Cage(CANARIES)) == []
    # What was said is still there to read, with the values left out.
    assert any("[withheld]" in text for _, text in found), ended.failure


async def test_what_a_pod_says_in_its_trouble_is_repeated_without_the_values(
    bench: TaskBench, api: RunningApi, cluster: SandboxCluster
) -> None:
    # The image is named after the value, so that the pod's trouble names it.
    value = f"canary-{short().lower()}"
    manifest = {
        "apiVersion": "v1", "kind": "Secret", "metadata": {"name": "key"}, "stringData": {"image": value},
    }  # fmt: skip
    bad = deployment("bad", image=f"registry.example/does-not-exist:{value}")
    async with bench.service("runner", serve, settings(bench)):
        task = await bench.deploy(f"---\n{json.dumps(manifest)}\n{bad}", kubeconfig=cluster.kubeconfig)
        ended = await bench.until(task, lambda seen: any(card.message for card in seen.timeline.cards))
        shown = await everything(bench, api, task)
    assert value not in json.dumps([card.message for card in ended.timeline.cards])
    # The image itself is in the source, where everybody may read it: nobody said that it is a secret there.
    told = [(place, text) for place, text in shown if place != "deployment_task"]
    assert leaks(told, Cage([Canary("image", value)])) == []
