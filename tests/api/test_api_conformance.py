"""What the OpenAPI document says is what the API does: schemathesis tries, on every operation that is no stream."""

import json
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager
from typing import Any

import anyio.from_thread
import pytest
import requests
import schemathesis
import schemathesis.specs.openapi.checks as openapi_checks
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis import checks as generic_checks

from locktender.api.http.openapi import openapi_document
from locktender.api.http.operations import SSE
from locktender.api.parts import OPERATIONS
from locktender.testkit.api import ADMIN_TOKEN, RunningApi, running_api
from locktender.testkit.database import migrated_database
from locktender.testkit.servers import NatsServer, PostgresServer

pytestmark = pytest.mark.takes(seconds=15)

MODES = schemathesis.GenerationMode
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


@pytest.fixture(scope="module")
def api(postgres_server: PostgresServer, database_template: str, nats_server: NatsServer) -> Generator[RunningApi]:
    """The API in a thread of its own, because the fuzzer is synchronous."""

    @asynccontextmanager
    async def serving() -> AsyncGenerator[RunningApi]:
        async with migrated_database(postgres_server, database_template) as db, running_api(db, nats_server) as api:
            yield api

    with (
        anyio.from_thread.start_blocking_portal("asyncio") as portal,
        portal.wrap_async_context_manager(serving()) as api,
    ):
        yield api


@pytest.mark.parametrize(("name", "mode"), TRIED)
def test_every_answer_is_as_the_document_says(api: RunningApi, name: str, mode: schemathesis.GenerationMode) -> None:
    schema = schemathesis.openapi.from_dict(json.loads(openapi_document()))
    operation = schema.find_operation_by_id(name)
    with requests.Session() as session:
        session.trust_env = False

        @settings(
            max_examples=8,
            deadline=None,
            database=None,
            derandomize=True,
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        )
        @given(case=operation.as_strategy(generation_mode=mode))
        def answers(case: Any) -> None:
            headers = {"Authorization": f"Bearer {ADMIN_TOKEN}"}
            response = case.call(base_url=api.url, session=session, headers=headers)
            case.validate_response(response, checks=CHECKS)

        answers()
