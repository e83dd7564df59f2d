"""A sandbox cluster that is killed and started again on the same directory goes on where it was."""

import asyncio
import contextlib
import http.client
import signal
from pathlib import Path
from typing import Any

import pytest

from locktender.embedded.cluster.journal import Journal, JournalDamaged
from locktender.embedded.cluster.objects import Key, Store
from locktender.testkit.cluster import SandboxCluster, sandbox_cluster
from locktender.testkit.cluster_rig import APPS, CORE, condition, create, deployment, event, is_ready, pod, until

CONFIG_MAPS = f"{CORE}/configmaps"
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


def config_map(name: str) -> dict[str, Any]:
    return {"metadata": {"name": name}, "data": {"a": "x" * 500}}


async def kill(cluster: SandboxCluster) -> None:
    assert cluster.process is not None
    cluster.process.send_signal(signal.SIGKILL)
    await cluster.process.wait()


async def write_until_it_dies(cluster: SandboxCluster, worker: int) -> list[tuple[str, str]]:
    """Name and version of everything that was acknowledged."""
    told: list[tuple[str, str]] = []
    with contextlib.suppress(OSError, http.client.HTTPException):
        for number in range(10_000):
            code, answer = await cluster.request("POST", CONFIG_MAPS, config_map(f"cm-{worker}-{number}"))
            if code == 201:
                told.append((answer["metadata"]["name"], answer["metadata"]["resourceVersion"]))
    return told


async def test_everything_acknowledged_survives_a_kill_in_the_middle_of_writes(tmp_path: Path) -> None:
    async with sandbox_cluster(process=True, state=tmp_path, persist=True) as first:
        async with asyncio.TaskGroup() as group:
            writers = [group.create_task(write_until_it_dies(first, worker)) for worker in range(3)]
            await asyncio.sleep(1)
            await kill(first)
        told = [entry for writer in writers for entry in writer.result()]
    async with sandbox_cluster(process=True, state=tmp_path, persist=True) as second:
        _, rows = await second.request("GET", CONFIG_MAPS)
        _, born = await second.request("POST", CONFIG_MAPS, config_map("later"))

    kept = {(row["metadata"]["name"], row["metadata"]["resourceVersion"]) for row in rows["items"]}
    assert len(told) > 20
    assert set(told) <= kept
    assert int(born["metadata"]["resourceVersion"]) > max(int(version) for _, version in told)


async def test_controllers_go_on_after_a_kill(tmp_path: Path) -> None:
    slow = deployment("slow", behaviour="slow:2")
    async with sandbox_cluster(process=True, state=tmp_path, persist=True, pace=0.3) as first:
        await create(first, f"{APPS}/deployments", deployment("done"))
        up = await until(first, f"{APPS}/deployments/done", lambda d: d.get("status", {}).get("readyReplicas") == 1)
        await create(first, f"{APPS}/deployments", slow)
        await create(first, f"{CORE}/pods", pod("bad", behaviour="crash-loop"))
        await event(first, "Scheduled", "bad")
        await kill(first)
    async with sandbox_cluster(process=True, state=tmp_path, persist=True, pace=0.3) as second:
        _, again = await second.request("GET", f"{APPS}/deployments/done")
        await until(second, f"{APPS}/deployments/slow", lambda d: d.get("status", {}).get("readyReplicas") == 1)
        await event(second, "BackOff", "bad")
        _, settled = await second.request("GET", f"{APPS}/deployments/done")

    assert again["metadata"]["uid"] == up["metadata"]["uid"]
    # What was ready is not started again.
    assert settled["metadata"]["resourceVersion"] == up["metadata"]["resourceVersion"]
    assert condition(settled, "Available")["status"] == "True"


async def test_a_watch_goes_on_from_the_last_version_and_begins_again_from_an_older_one(tmp_path: Path) -> None:
    async with sandbox_cluster(state=tmp_path, persist=True) as first:
        _, old = await first.request("GET", CONFIG_MAPS)
        await create(first, CONFIG_MAPS, config_map("a"))
        await until(first, CONFIG_MAPS, lambda rows: len(rows["items"]) == 2)
    async with sandbox_cluster(state=tmp_path, persist=True) as second:
        _, now = await second.request("GET", CONFIG_MAPS)
        await create(second, CONFIG_MAPS, config_map("b"))
        since = now["metadata"]["resourceVersion"]
        watch = f"{CONFIG_MAPS}?watch=true&timeoutSeconds=0&resourceVersion="
        _, news = await second.request("GET", f"{watch}{since}")
        _, gone = await second.request("GET", f"{watch}{old['metadata']['resourceVersion']}")

    assert (news["type"], news["object"]["metadata"]["name"]) == ("ADDED", "b")
    assert (gone["type"], gone["object"]["code"]) == ("ERROR", 410)


async def test_custom_kinds_and_their_objects_survive(tmp_path: Path) -> None:
    names = {"plural": "things", "kind": "Thing", "singular": "thing"}
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    version = {"name": "v1", "served": True, "storage": True, "schema": schema}
    spec = {"group": "x.dev", "scope": "Namespaced", "names": names, "versions": [version]}
    things = "/apis/x.dev/v1/namespaces/default/things"
    async with sandbox_cluster(state=tmp_path, persist=True) as first:
        body = {"kind": "CustomResourceDefinition", "metadata": {"name": "things.x.dev"}, "spec": spec}
        await create(first, CRDS, body)
        await until(first, things, lambda rows: "items" in rows)
        thing = {"apiVersion": "x.dev/v1", "kind": "Thing", "metadata": {"name": "t"}, "spec": {"a": 1}}
        await create(first, things, thing)
    async with sandbox_cluster(state=tmp_path, persist=True) as second:
        code, found = await second.request("GET", f"{things}/t")

    assert (code, found["spec"]) == (200, {"a": 1})


async def test_a_cluster_that_does_not_persist_is_empty_again(tmp_path: Path) -> None:
    async with sandbox_cluster(state=tmp_path) as first:
        await create(first, CONFIG_MAPS, config_map("a"))
    async with sandbox_cluster(state=tmp_path) as second:
        assert (await second.request("GET", f"{CONFIG_MAPS}/a"))[0] == 404


async def test_a_pod_that_was_ready_is_ready_at_once(tmp_path: Path) -> None:
    async with sandbox_cluster(state=tmp_path, persist=True) as first:
        await create(first, f"{CORE}/pods", pod("web"))
        await until(first, f"{CORE}/pods/web", is_ready)
    async with sandbox_cluster(state=tmp_path, persist=True) as second:
        assert is_ready((await second.request("GET", f"{CORE}/pods/web"))[1])


def filled(file: Path, *, slack: int = 10_000, changes: int = 3) -> Store:
    store, journal = Store(), Journal(file, slack=slack)
    journal.follow(store)
    for number in range(changes):
        store.put("configmaps", {"metadata": {"namespace": "n", "name": f"cm-{number % 3}"}, "data": {"a": "x" * 100}})
    store.remove(Key("configmaps", "n", "cm-0"))
    journal.close()
    return store


def test_a_line_that_was_cut_short_counts_as_not_written(tmp_path: Path) -> None:
    file = tmp_path / "objects.jsonl"
    filled(file)
    whole = file.read_bytes()
    file.write_bytes(whole[:-10])
    saved = Journal(file).load()

    assert saved is not None
    assert [obj["metadata"]["name"] for _, obj in saved.objects] == ["cm-0", "cm-1", "cm-2"]


def test_a_line_in_the_middle_that_makes_no_sense_is_told(tmp_path: Path) -> None:
    file = tmp_path / "objects.jsonl"
    filled(file)
    lines = file.read_bytes().splitlines(keepends=True)
    lines[1] = b"{half\n"
    file.write_bytes(b"".join(lines))

    with pytest.raises(JournalDamaged, match="line 2"):
        Journal(file).load()


def test_the_file_stays_bounded_however_often_objects_change(tmp_path: Path) -> None:
    file = tmp_path / "objects.jsonl"
    store = filled(file, changes=1000)
    saved = Journal(file).load()

    assert file.stat().st_size < 15_000
    assert saved is not None
    assert saved.version == store.version
    assert sorted(obj["metadata"]["name"] for _, obj in saved.objects) == ["cm-1", "cm-2"]
