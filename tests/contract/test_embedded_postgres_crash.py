import asyncio
import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from locktender.embedded import pg_binaries
from locktender.embedded.account import serving_account
from locktender.embedded.child import eventually
from locktender.embedded.postgres import PostgresSettings, PostgresSupervisor
from locktender.testkit.embedded_rig import add_row, busy_backend, connected, rows, runs, stranger, supervised_elsewhere
from locktender.testkit.scratch import scratch_dir

SETTINGS = PostgresSettings(shared_buffers="16MB", max_connections=20, fast=True)

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="reads /proc to see what became of the processes"),
    pytest.mark.takes(seconds=25),
]


@pytest.fixture
def state() -> Iterator[Path]:
    with scratch_dir() as folder:
        yield folder / "state"


async def test_a_killed_server_is_noticed_and_starts_again_with_its_rows(state: Path) -> None:
    async with PostgresSupervisor(state, settings=PostgresSettings()) as postgres:
        await add_row(postgres.dsn())
        os.kill(postgres.pid, signal.SIGKILL)
        assert await postgres.wait() == -signal.SIGKILL
        await postgres.start()
        assert await rows(postgres.dsn()) == 1


async def test_a_backend_that_outlives_its_server_does_not_block_the_next_start(state: Path) -> None:
    async with PostgresSupervisor(state, settings=SETTINGS) as postgres:
        await add_row(postgres.dsn())
        with busy_backend(pg_binaries.locate().program("psql"), postgres.dsn()):
            backend = await pid_of_endless_statement(postgres.dsn())
            os.kill(postgres.pid, signal.SIGKILL)
            await postgres.wait()
            assert runs("postgres", backend)
            await postgres.start()
            assert not runs("postgres", backend)
            assert await rows(postgres.dsn()) == 1


async def pid_of_endless_statement(dsn: str) -> int:
    statement = "SELECT pid FROM pg_stat_activity WHERE query LIKE '%generate_series%' AND pid <> pg_backend_pid()"
    async with connected(dsn) as connection, asyncio.timeout(10):
        while (pid := await connection.fetchval(statement)) is None:
            pass
        return pid


async def test_the_server_of_a_killed_supervisor_is_replaced_and_its_rows_are_kept(state: Path) -> None:
    with supervised_elsewhere("postgres", state, ends_with_parent=False) as other:
        await add_row(other.address)
        other.kill_supervisor()
    assert runs("postgres", other.pid)
    async with PostgresSupervisor(state, settings=SETTINGS) as postgres:
        assert not runs("postgres", other.pid)
        assert postgres.dsn() == other.address
        assert await rows(postgres.dsn()) == 1


async def test_the_server_ends_with_its_supervisor(state: Path) -> None:
    with supervised_elsewhere("postgres", state, ends_with_parent=True) as other:
        other.kill_supervisor()
    assert await eventually(lambda: not runs("postgres", other.pid), within=20)


async def test_a_pid_file_that_names_a_living_stranger_is_no_obstacle(state: Path) -> None:
    async with PostgresSupervisor(state, settings=SETTINGS) as postgres:
        await add_row(postgres.dsn())
        os.kill(postgres.pid, signal.SIGKILL)
        await postgres.wait()
        # PostgreSQL takes any living process of its own user for a server.
        with stranger(serving_account(state / "postgres" / "data")) as pid:
            file = state / "postgres" / "data" / "postmaster.pid"
            file.write_text("\n".join([str(pid), *file.read_text().splitlines()[1:]]) + "\n")
            await postgres.start()
            assert await rows(postgres.dsn()) == 1


async def test_an_interrupted_first_start_leaves_nothing_in_the_way(state: Path) -> None:
    half = state / "postgres" / "data.new"
    half.mkdir(parents=True)
    (half / "PG_VERSION").write_text("18\n")
    async with PostgresSupervisor(state, settings=SETTINGS) as postgres:
        await add_row(postgres.dsn())
    assert not half.exists()


async def test_a_cancelled_start_leaves_no_server_and_no_lock(state: Path) -> None:
    postgres = PostgresSupervisor(state, settings=SETTINGS)
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.05):
            await postgres.start()
    async with PostgresSupervisor(state, settings=SETTINGS) as again:
        await add_row(again.dsn())
