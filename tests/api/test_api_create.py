from collections.abc import AsyncGenerator

import pytest

from locktender.testkit.api import RunningApi, running_api
from locktender.testkit.database import TestDatabase
from locktender.testkit.servers import NatsServer


@pytest.fixture
async def api(db: TestDatabase, nats_server: NatsServer) -> AsyncGenerator[RunningApi]:
    async with running_api(db, nats_server) as running:
        yield running


async def test_the_answer_to_a_create_is_what_a_read_gives(api: RunningApi) -> None:
    made = await api.create()
    found = await api.http.get(api.path(f"/{made['task']['id']}"))
    assert found.json() == made
    assert found.headers["etag"] == '"1"'
