"""Lists and watches of the sandbox cluster: versions, portions, bookmarks, and what is told too late."""

import asyncio
import contextlib
import http.client
import json
import ssl
from collections.abc import AsyncIterator
from typing import Any
from urllib.parse import urlsplit

import pytest

from locktender.testkit.cluster import SandboxCluster, sandbox_cluster

MAPS = "/api/v1/namespaces/default/configmaps"
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"
REDUCED = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io,application/json"


@pytest.fixture
async def cluster() -> AsyncIterator[SandboxCluster]:
    async with sandbox_cluster() as running:
        yield running


async def make(cluster: SandboxCluster, *names: str) -> str:
    """Create ConfigMaps with the label `set=watch`; returns the version after the last one."""
    version = ""
    for name in names:
        metadata = {"name": name, "labels": {"set": "watch"}}
        _, born = await cluster.request("POST", MAPS, {"metadata": metadata, "data": {"a": "1"}})
        version = born["metadata"]["resourceVersion"]
    return version


def _ask(cluster: SandboxCluster, path: str, accept: str) -> tuple[int, str]:
    where = urlsplit(cluster.server)
    context = ssl.create_default_context(cadata=cluster.ca_pem)
    connection = http.client.HTTPSConnection(where.hostname or "", where.port, context=context, timeout=15)
    with contextlib.closing(connection):
        connection.request("GET", path, headers={"authorization": f"Bearer {cluster.token}", "accept": accept})
        answer = connection.getresponse()
        return answer.status, answer.read().decode()


async def ask(cluster: SandboxCluster, path: str, accept: str = "application/json") -> tuple[int, Any]:
    """One answer; a list of events for a watch, which must end by itself."""
    code, text = await asyncio.to_thread(_ask, cluster, path, accept)
    return code, [json.loads(line) for line in text.splitlines()] if "watch=" in path else json.loads(text)


async def watch(cluster: SandboxCluster, more: str, accept: str = "application/json") -> list[Any]:
    path = f"{MAPS}?watch=true&labelSelector=set%3Dwatch&timeoutSeconds=1{more}"
    code, events = await ask(cluster, path, accept)
    assert code == 200
    return events


@pytest.mark.parametrize("version", ["", "&resourceVersion=0"])
async def test_a_watch_from_no_version_begins_with_what_is_there(cluster: SandboxCluster, version: str) -> None:
    await make(cluster, "a", "b")
    events = await watch(cluster, version)

    assert [(e["type"], e["object"]["metadata"]["name"]) for e in events] == [("ADDED", "a"), ("ADDED", "b")]
    assert {e["object"]["kind"] for e in events} == {"ConfigMap"}


async def test_a_watch_from_a_version_tells_only_what_came_later(cluster: SandboxCluster) -> None:
    since = await make(cluster, "a")
    await make(cluster, "b")
    await cluster.request("DELETE", f"{MAPS}/a")
    events = await watch(cluster, f"&resourceVersion={since}")

    assert [(e["type"], e["object"]["metadata"]["name"]) for e in events] == [("ADDED", "b"), ("DELETED", "a")]


async def test_the_end_of_the_first_objects_is_marked_when_asked_for(cluster: SandboxCluster) -> None:
    await make(cluster, "a")
    more = "&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"
    first, mark, *_ = await watch(cluster, more)

    assert (first["type"], mark["type"]) == ("ADDED", "BOOKMARK")
    assert mark["object"]["metadata"]["annotations"] == {"k8s.io/initial-events-end": "true"}


async def test_a_version_that_was_compacted_is_gone_for_watches_and_portions(cluster: SandboxCluster) -> None:
    since = await make(cluster, "a", "b", "c")
    _, portion = await cluster.request("GET", f"{MAPS}?labelSelector=set%3Dwatch&limit=1")
    await make(cluster, "d")
    await cluster.compact()
    (late,) = await watch(cluster, f"&resourceVersion={since}")
    code, refused = await cluster.request("GET", f"{MAPS}?limit=1&continue={portion['metadata']['continue']}")

    assert (late["type"], late["object"]["code"], late["object"]["reason"]) == ("ERROR", 410, "Expired")
    assert (code, refused["reason"]) == (410, "Expired")
    assert refused["message"].startswith("The provided continue parameter is too old")


async def test_portions_add_up_to_the_whole_and_keep_one_version(cluster: SandboxCluster) -> None:
    await make(cluster, *"abcde")
    names: list[str] = []
    versions: set[str] = set()
    more = ""
    for _ in range(3):
        _, page = await cluster.request("GET", f"{MAPS}?labelSelector=set%3Dwatch&limit=2{more}")
        names += [item["metadata"]["name"] for item in page["items"]]
        versions.add(page["metadata"]["resourceVersion"])
        more = f"&continue={page['metadata'].get('continue', '')}"

    assert (names, len(versions), more) == (list("abcde"), 1, "&continue=")


@pytest.mark.parametrize(
    ("query", "code", "said"),
    [
        ("resourceVersion=x", 400, "Invalid value"),
        ("resourceVersionMatch=Exact", 422, "forbidden unless resourceVersion is provided"),
        ("resourceVersion=0&resourceVersionMatch=Exact", 422, "is forbidden for resourceVersion"),
        ("resourceVersion=1&resourceVersionMatch=Exact", 410, "too old resource version"),
        ("resourceVersion=9999999999999999", 504, "Too large resource version"),
        ("labelSelector=a%3D%3D%3D", 400, "unable to parse requirement"),
        ("fieldSelector=spec.x%3D1", 400, "field label not supported"),
        ("watch=true&resourceVersionMatch=Exact", 422, "forbidden for watch unless sendInitialEvents"),
        ("watch=true&sendInitialEvents=true", 422, "requires setting resourceVersionMatch to NotOlderThan"),
    ],
)
async def test_parameters_that_cannot_be_meant_are_refused(
    cluster: SandboxCluster, query: str, code: int, said: str
) -> None:
    answered, refused = await cluster.request("GET", f"{MAPS}?{query}")

    assert (answered, refused["kind"]) == (code, "Status")
    assert said in refused["message"]


async def test_a_typed_list_says_once_what_its_items_are(cluster: SandboxCluster) -> None:
    await make(cluster, "a")
    _, listed = await cluster.request("GET", f"{MAPS}?labelSelector=set%3Dwatch")

    assert (listed["kind"], listed["apiVersion"]) == ("ConfigMapList", "v1")
    assert set(listed["items"][0]) == {"metadata", "data"}


async def test_objects_come_as_tables_or_as_their_metadata_alone(cluster: SandboxCluster) -> None:
    await make(cluster, "a")
    _, table = await ask(cluster, f"{MAPS}?labelSelector=set%3Dwatch", TABLE)
    _, reduced = await ask(cluster, f"{MAPS}?labelSelector=set%3Dwatch", REDUCED)
    rows = await watch(cluster, "", TABLE)

    assert [column["name"] for column in table["columnDefinitions"]] == ["Name", "Data", "Age"]
    assert table["rows"][0]["cells"][:2] == ["a", 1]
    assert table["rows"][0]["object"]["kind"] == "PartialObjectMetadata"
    assert (reduced["kind"], set(reduced["items"][0])) == (
        "PartialObjectMetadataList",
        {"kind", "apiVersion", "metadata"},
    )
    assert [(e["type"], e["object"]["kind"], e["object"]["rows"][0]["cells"][0]) for e in rows] == [
        ("ADDED", "Table", "a")
    ]


async def test_a_refusal_is_never_a_table(cluster: SandboxCluster) -> None:
    code, refused = await ask(cluster, f"{MAPS}/nothing", TABLE)

    assert (code, refused["kind"]) == (404, "Status")


async def test_the_documents_describe_what_is_served(cluster: SandboxCluster) -> None:
    _, index = await ask(cluster, "/openapi/v3")
    _, apps = await ask(cluster, index["paths"]["apis/apps/v1"]["serverRelativeURL"].partition("?")[0])
    _, old = await ask(cluster, "/openapi/v2")
    binary, _ = await ask(cluster, "/openapi/v2", "application/com.github.proto-openapi.spec.v2@v1.0+protobuf")

    schema = apps["components"]["schemas"]["io.k8s.api.apps.v1.Deployment"]
    assert schema["x-kubernetes-group-version-kind"] == [{"group": "apps", "version": "v1", "kind": "Deployment"}]
    one = apps["paths"]["/apis/apps/v1/namespaces/{namespace}/deployments/{name}"]
    assert "fieldValidation" in {parameter["name"] for parameter in one["patch"]["parameters"]}
    pod = apps["components"]["schemas"]["io.k8s.api.core.v1.PodSpec"]["properties"]["containers"]
    assert (pod["x-kubernetes-list-map-keys"], pod["x-kubernetes-patch-merge-key"]) == (["name"], "name")
    assert "io.k8s.api.core.v1.Pod" in old["definitions"]
    assert binary == 406
