"""Random histories of stacks against Postgres; after each step every rule of lanes, runs and stages has to hold.

`LOCKTENDER_CHAOS=long` makes more and longer ones, of other choices each time.
"""

import asyncio
import os
from contextlib import AsyncExitStack

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.stateful import run_state_machine_as_test

from locktender.testkit.database import migrated_database
from locktender.testkit.servers import PostgresServer
from locktender.testkit.stack_histories import StackHistories

_LONG = os.environ.get("LOCKTENDER_CHAOS") == "long"

pytestmark = [pytest.mark.takes(seconds=20), pytest.mark.timeout(3600 if _LONG else 300)]


def test_no_history_of_a_stack_breaks_a_rule(postgres_server: PostgresServer, database_template: str) -> None:
    examples, steps = (400, 80) if _LONG else (10, 40)
    thorough = settings(
        max_examples=examples, stateful_step_count=steps, deadline=None, suppress_health_check=list(HealthCheck),
        database=None,
    )  # fmt: skip
    with asyncio.Runner() as runner:
        opened = AsyncExitStack()
        db = runner.run(opened.enter_async_context(migrated_database(postgres_server, database_template)))
        try:
            run_state_machine_as_test(lambda: StackHistories(runner, db), settings=thorough)
        finally:
            runner.run(opened.aclose())
