"""Any source against any cluster: a plan has one line a document, or the cluster's refusal is the answer.

`LOCKTENDER_CHAOS=long` tries many more clusters.
"""

import asyncio
import json
import os
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from itertools import cycle
from typing import Any
from uuid import UUID

import httpx
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from locktender.contracts.deployments.models import ApplyOptions
from locktender.contracts.deployments.plan import Plan, summary_of
from locktender.integrations.kube.access import ClusterAccess
from locktender.integrations.kube.client import KubeClient
from locktender.integrations.kube.errors import KubeError
from locktender.integrations.kube.manifests import parse_manifests
from locktender.integrations.kube.planning import survey
from locktender.integrations.kube.stamps import Stamp

EXAMPLES = 2_000 if os.environ.get("LOCKTENDER_CHAOS") == "long" else 40
CANARY = "canary-value-7d1e"
Body = dict[str, Any]

KINDS = {
    "v1": ["ConfigMap", "Secret", "Pod", "Namespace", "ServiceAccount"],
    "apps/v1": ["Deployment"],
    "autoscaling/v2": ["HorizontalPodAutoscaler"],
    "apiextensions.k8s.io/v1": ["CustomResourceDefinition"],
    "shop.example/v1": ["Widget"],
}
NAMES = st.sampled_from(
    ["metadata", "managedFields", "fieldsV1", "f:spec", "f:replicas", "spec", "replicas", "data", "name", "annotations",
     "status", "phase", "message", "reason", "details", "causes", "field", "items", "code", "kind", "k:{}", "v:1", "."]
)  # fmt: skip
SCALARS = st.none() | st.booleans() | st.integers(-1, 3) | st.sampled_from(["", "Terminating", "locktender", "Update"])
JSON = st.recursive(SCALARS, lambda inner: st.lists(inner, max_size=2) | st.dictionaries(NAMES, inner, max_size=4))
STATUSES = st.sampled_from([200, 200, 200, 201, 400, 401, 403, 404, 409, 410, 422, 429, 500, 503])
ANSWERS = st.lists(st.tuples(STATUSES, st.dictionaries(NAMES, JSON, max_size=5)), min_size=1, max_size=8)
SPECS = st.dictionaries(st.sampled_from(["replicas", "group", "names", "serviceAccountName"]), JSON, max_size=3)


@st.composite
def documents(draw: st.DrawFn) -> Body:
    version = draw(st.sampled_from(sorted(KINDS)))
    kind = draw(st.sampled_from([*KINDS[version], "Strange"]))
    body: Body = {"apiVersion": version, "kind": kind, "metadata": {"name": draw(st.sampled_from("abcdefgh"))}}
    if kind == "Secret":
        body["stringData"] = {"password": CANARY}
    elif kind == "ConfigMap":
        body["data"] = {"copy": draw(st.sampled_from([CANARY, "other", f"see\n{CANARY}\n"]))}
    elif kind != "ServiceAccount":
        body["spec"] = draw(SPECS)
    return body


class Jumping:
    """A clock on which every wait is over at once."""

    def __init__(self) -> None:
        self._elapsed = 0.0

    def monotonic(self) -> float:
        return self._elapsed

    def now(self) -> datetime:
        return datetime(2030, 1, 1, tzinfo=UTC) + timedelta(seconds=self._elapsed)

    async def sleep(self, seconds: float) -> None:
        self._elapsed += seconds
        await asyncio.sleep(0)


def cluster(answers: list[tuple[int, Body]]) -> Callable[[httpx.Request], httpx.Response]:
    """Answers discovery as it should, and everything else with what comes next; applied objects come back too."""
    following = cycle(answers)

    def answer(request: httpx.Request) -> httpx.Response:
        version = request.url.path.removeprefix("/apis/").removeprefix("/api/")
        if version in KINDS:
            resources = [
                {"name": f"{kind.lower()}s", "kind": kind, "namespaced": kind != "Namespace"} for kind in KINDS[version]
            ]
            return httpx.Response(200, json={"resources": resources})
        status, body = next(following)
        if status in {200, 201} and request.method == "PATCH":
            return httpx.Response(status, json={**json.loads(request.content), **body})
        return httpx.Response(status, json=body)

    return answer


async def planned(bodies: list[Body], answers: list[tuple[int, Body]], options: ApplyOptions) -> Plan | None:
    items = parse_manifests("\n---\n".join(json.dumps(body) for body in bodies))
    access = ClusterAccess(server="http://127.0.0.1:1", token="t")
    async with KubeClient(access, transport=httpx.MockTransport(cluster(answers))) as client:
        try:
            found = await survey(
                client,
                items,
                namespace=None,
                options=options,
                stamp=Stamp(UUID(int=7), 1),
                clock=Jumping(),
                seconds=30,
            )
        except KubeError:
            return None
    assert sorted(document.index for document in found.plan.documents) == list(range(len(items)))
    assert set(found.live) <= set(range(len(items)))
    return found.plan


@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    st.lists(documents(), min_size=1, max_size=4, unique_by=lambda body: (body["kind"], body["metadata"]["name"])),
    ANSWERS,
    st.builds(ApplyOptions, force=st.booleans(), replace=st.sampled_from([(), ("Deployment", "Pod")])),
)
def test_whatever_a_cluster_answers_each_document_has_its_line_and_no_secret_is_told(
    bodies: list[Body], answers: list[tuple[int, Body]], options: ApplyOptions
) -> None:
    plan = asyncio.run(planned(bodies, answers, options))
    if plan is None:
        return
    assert plan.summary == summary_of(plan.documents)
    text = plan.model_dump_json()
    assert Plan.model_validate_json(text) == plan
    if any(body["kind"] == "Secret" for body in bodies):
        assert CANARY not in text
