"""Whatever is sent to the sandbox cluster, it answers with a success or a refusal, and its controllers live on."""

import asyncio
import json
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from locktender.embedded.cluster.api import Call, serve
from locktender.embedded.cluster.cluster import Cluster
from locktender.embedded.cluster.controllers.loop import ControllerLoop
from locktender.embedded.cluster.controllers.pace import Pace
from locktender.embedded.cluster.refusal import Refusal
from locktender.embedded.cluster.request import target_of

PLURALS = {"Deployment": "deployments", "Service": "services", "ServiceAccount": "serviceaccounts", "Job": "jobs"}
EXAMPLE = Path(__file__).parents[2] / "examples" / "online-boutique.yaml"
JOB = {
    "apiVersion": "batch/v1",
    "kind": "Job",
    "metadata": {"name": "once"},
    "spec": {"template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "a", "image": "b"}]}}},
}
# One of each kind: more of them only make it slower.
DOCUMENTS = list({doc["kind"]: doc for doc in [*yaml.safe_load_all(EXAMPLE.read_text()), JOB] if doc}.values())
SCALARS = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=8)
)
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=4), inner, max_size=2)
)
VERBS = st.sampled_from(
    [
        ("PATCH", "application/apply-patch+yaml"),
        ("PATCH", "application/merge-patch+json"),
        ("PATCH", "application/strategic-merge-patch+json"),
        ("PUT", "application/json"),
    ]
)


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if path:
        yield path
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, item in pairs:
        yield from places(item, (*path, name))


@st.composite
def broken(draw: st.DrawFn) -> dict[str, Any]:
    document = json.loads(json.dumps(draw(st.sampled_from(DOCUMENTS))))
    path = draw(st.sampled_from(list(places(document))))
    parent = document
    for step in path[:-1]:
        parent = parent[step]
    parent[path[-1]] = draw(VALUES)
    return document


def submit(cluster: Cluster, original: dict[str, Any], body: dict[str, Any], verb: tuple[str, str]) -> int:
    method, content_type = verb
    version = original["apiVersion"]
    root = "/api/v1" if version == "v1" else f"/apis/{version}"
    path = f"{root}/namespaces/default/{PLURALS[original['kind']]}/{original['metadata']['name']}"
    query = {"fieldManager": "test", "force": "true"}
    target = target_of(cluster.registry, method, path, query)
    try:
        return serve(cluster, Call(target, query, content_type, "test/1", json.dumps(body).encode())).code
    except Refusal as refusal:
        # The real server calls a configuration that does not fit its schema an error of its own.
        return 422 if refusal.message.startswith("failed to create typed patch object") else refusal.code


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(bodies=st.lists(st.tuples(broken(), VERBS), min_size=1, max_size=5))
def test_no_body_makes_the_server_or_a_controller_fail(
    caplog: pytest.LogCaptureFixture, bodies: list[tuple[dict[str, Any], tuple[str, str]]]
) -> None:
    async def live() -> None:
        cluster = Cluster()
        loop = asyncio.create_task(ControllerLoop(cluster, Pace(factor=0)).run())  # noqa: TID251 - cancelled below
        originals = {document["kind"]: document for document in DOCUMENTS}
        for original in originals.values():
            assert submit(cluster, original, original, ("PATCH", "application/apply-patch+yaml")) == 201
        for body, verb in bodies:
            original = originals.get(str(body.get("kind")), JOB)
            assert submit(cluster, original, body, verb) < 500
            await asyncio.sleep(0)
        await asyncio.sleep(0.01)
        loop.cancel()
        await asyncio.wait([loop])

    with caplog.at_level(logging.ERROR):
        caplog.clear()
        asyncio.run(live())
    assert not caplog.records
