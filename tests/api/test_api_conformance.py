"""What the OpenAPI document says is what the API does: schemathesis tries, on every operation that is no stream.

Half of the requests that are as they should be go to what is there: a stack, its deployment and its run, with the token
of that run. The others find nothing.
"""

import gzip
import hashlib
import json
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import anyio.from_thread
import httpx
import pytest
import requests
import schemathesis
import schemathesis.specs.openapi.checks as openapi_checks
from anyio.from_thread import BlockingPortal
from hypothesis import HealthCheck, Phase, assume, given, settings
from hypothesis import strategies as some
from schemathesis import checks as generic_checks

from locktender.api.http.openapi import openapi_document
from locktender.api.http.operations import SSE
from locktender.api.parts import OPERATIONS
from locktender.testkit.api import ADMIN_TOKEN, RunningApi, running_api
from locktender.testkit.database import TestDatabase, migrated_database
from locktender.testkit.run_api import HeldToken, take_run
from locktender.testkit.servers import NatsServer, PostgresServer
from locktender.testkit.stacks import new_stack

pytestmark = pytest.mark.takes(seconds=50)

schemathesis.serializer.alias("application/gzip", "application/octet-stream")
SCHEMA = schemathesis.openapi.from_dict(json.loads(openapi_document()))
MODES = schemathesis.GenerationMode
EXAMPLES = {MODES.POSITIVE: 6, MODES.NEGATIVE: 4}
TRIED = [
    pytest.param(each.name, mode, id=f"{each.name}-{mode.value}")
    for each in OPERATIONS
    if each.answers[0].media_type != SSE
    for mode in (MODES.POSITIVE, MODES.NEGATIVE)
    # What takes nothing cannot be given anything wrong.
    if mode is MODES.POSITIVE or each.guarded
]
CHECKS = [
    generic_checks.not_a_server_error,
    openapi_checks.status_code_conformance,
    openapi_checks.content_type_conformance,
    openapi_checks.response_headers_conformance,
    openapi_checks.response_schema_conformance,
    openapi_checks.negative_data_rejection,
]


@dataclass(frozen=True, slots=True)
class World:
    """What is there: by the names of the places in paths."""

    places: dict[str, str]
    run: HeldToken
    group_token: str

    def auth(self, path: str) -> dict[str, str]:
        """Whoever may ask there."""
        if path.startswith("/v1/runs/"):
            return self.run.bearer
        if path.startswith("/v1/stacks/"):
            return {"Authorization": self.run.basic._auth_header}
        if path.startswith("/v1/runner-groups/"):
            return {"Authorization": f"Bearer {self.group_token}"}
        return ADMIN


ADMIN = {"Authorization": f"Bearer {ADMIN_TOKEN}"}


@dataclass(frozen=True, slots=True)
class Tried:
    """The API in a thread of its own, because the fuzzer is synchronous."""

    api: RunningApi
    db: TestDatabase
    portal: BlockingPortal

    def world(self) -> World:
        """A fresh one: a request may end what another one looks at."""
        return self.portal.call(self._made)

    async def _made(self) -> World:
        archive = gzip.compress(b"what a runner looks into", mtime=0)
        digest = hashlib.sha256(archive).hexdigest()
        source = {"kind": "archive", "sha256": digest, "path": "."}
        rig = await new_stack(self.db, source=json.dumps(source))
        name = (await rig.stack())["name"]
        upload = f"/v1/workspaces/acme/stacks/{name}/source-archives/{digest}"
        sent = await self.api.http.put(upload, content=archive, headers={"Content-Type": "application/gzip"})
        assert sent.status_code == httpx.codes.CREATED, sent.text
        run = await take_run(rig, await rig.deploy(created_by="admin", source=source, commit_sha=digest))
        answer = await self.api.http.post("/v1/workspaces/acme/runner-groups", json={"name": name})
        assert answer.status_code == httpx.codes.CREATED, answer.text
        task = (await self.api.create())["task"]["id"]
        places = {
            "workspace": "acme", "project": "shop", "taskId": task, "stack": name, "number": "1", "group": name,
            "run": str(run.id), "runId": str(run.id), "stackId": str(rig.stack_id), "variable": "region",
            "sha256": digest,
        }  # fmt: skip
        return World(places, run, answer.json()["token"])


@pytest.fixture(scope="module")
def tried(postgres_server: PostgresServer, database_template: str, nats_server: NatsServer) -> Generator[Tried]:
    @asynccontextmanager
    async def serving() -> AsyncGenerator[tuple[RunningApi, TestDatabase]]:
        async with migrated_database(postgres_server, database_template) as db, running_api(db, nats_server) as api:
            yield api, db

    with (
        anyio.from_thread.start_blocking_portal("asyncio") as portal,
        portal.wrap_async_context_manager(serving()) as (api, db),
    ):
        yield Tried(api, db, portal)


@pytest.mark.parametrize(("name", "mode"), TRIED)
def test_every_answer_is_as_the_document_says(tried: Tried, name: str, mode: schemathesis.GenerationMode) -> None:
    operation = SCHEMA.find_operation_by_id(name)
    world = tried.world()
    with requests.Session() as session:
        session.trust_env = False

        @settings(
            max_examples=EXAMPLES[mode],
            deadline=None,
            database=None,
            derandomize=True,
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        )
        @given(
            case=operation.as_strategy(generation_mode=mode),
            known=some.booleans() if mode is MODES.POSITIVE else some.just(False),  # noqa: FBT003 - hypothesis takes it so
        )
        def answers(case: Any, known: bool) -> None:  # noqa: FBT001 - drawn
            # Where that is what is wrong with it, it never gets onto the wire.
            assume(all(value not in (None, [], {}) for value in (case.query or {}).values()))
            headers = ADMIN
            if known:
                case.path_parameters |= {
                    place: world.places.get(place, was) for place, was in case.path_parameters.items()
                }
                headers = world.auth(operation.path)
            response = case.call(base_url=tried.api.url, session=session, headers=headers)
            case.validate_response(response, checks=CHECKS)

        answers()
