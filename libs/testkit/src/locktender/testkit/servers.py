"""Test servers by a ladder: one named in the environment, else a container, else the embedded programs.

    LOCKTENDER_TEST_DATABASE_URL   a superuser's address of a PostgreSQL that may be filled and emptied
    LOCKTENDER_TEST_NATS_URL       a NATS server with JetStream
    LOCKTENDER_TEST_NATS_SEEDS     a folder with `<identity>.nk` files for it, when it asks for keys

Every server says which rung it stands on, so that nobody believes to have tested what was not there. Under xdist each
worker has servers of its own.
"""

import asyncio
import os
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

from locktender.embedded.nats import NatsSettings, NatsSupervisor
from locktender.embedded.postgres import PostgresSettings, PostgresSupervisor
from locktender.testkit.containers import docker_answers, nats_container, postgres_container
from locktender.testkit.scratch import scratch_dir

Rung = Literal["environment", "container", "embedded"]

_DATABASE_URL = "LOCKTENDER_TEST_DATABASE_URL"
_NATS_URL = "LOCKTENDER_TEST_NATS_URL"
_NATS_SEEDS = "LOCKTENDER_TEST_NATS_SEEDS"


@dataclass(frozen=True, slots=True)
class PostgresServer:
    """A PostgreSQL for tests, reached as a superuser.

    `supervisor` is there on the embedded rung alone: whoever kills or restarts a server starts one of its own.
    """

    rung: Rung
    url: str = field(repr=False)
    supervisor: PostgresSupervisor | None = None

    def dsn(self, database: str | None = None) -> str:
        """The `postgresql://` address, of another database where one is named."""
        parts = urlsplit(self.url)
        return parts.geturl() if database is None else parts._replace(path=f"/{database}").geturl()


@dataclass(frozen=True, slots=True)
class NatsServer:
    """A NATS server for tests. `seeds` holds a file for each identity and for `admin`, or nothing at all."""

    rung: Rung
    url: str
    seeds: Mapping[str, Path]
    supervisor: NatsSupervisor | None = None


def database_rung() -> Rung:
    """The rung that `postgres_server` stands on."""
    return _rung(_DATABASE_URL)


def nats_rung() -> Rung:
    """The rung that `nats_server` stands on."""
    return _rung(_NATS_URL)


@contextmanager
def postgres_server() -> Generator[PostgresServer]:
    """A PostgreSQL for as long as the block lasts. Call it where no event loop runs, in the main thread.

    Raises:
        EmbeddedError: the embedded server cannot be started.
    """
    rung = database_rung()
    if rung == "environment":
        yield PostgresServer(rung, os.environ[_DATABASE_URL])
    elif rung == "container":
        with postgres_container() as url:
            yield PostgresServer(rung, url)
    else:
        with scratch_dir() as folder:
            supervisor = PostgresSupervisor(folder, settings=PostgresSettings(fast=True))
            address = asyncio.run(supervisor.start())
            try:
                yield PostgresServer(rung, address.dsn(), supervisor)
            finally:
                asyncio.run(supervisor.stop())


@contextmanager
def nats_server() -> Generator[NatsServer]:
    """A NATS server for as long as the block lasts. Call it where no event loop runs, in the main thread.

    Raises:
        EmbeddedError: the embedded server cannot be started.
    """
    rung = nats_rung()
    if rung == "environment":
        yield NatsServer(rung, os.environ[_NATS_URL], _seeds_from_environment())
        return
    with scratch_dir() as folder:
        if rung == "container":
            with nats_container(folder) as (url, seeds):
                yield NatsServer(rung, url, seeds)
        else:
            supervisor = NatsSupervisor(folder, NatsSettings(sync="2m", admin=True))
            address = asyncio.run(supervisor.start())
            try:
                yield NatsServer(rung, address.url, address.seeds, supervisor)
            finally:
                asyncio.run(supervisor.stop())


def _rung(variable: str) -> Rung:
    if os.environ.get(variable):
        return "environment"
    return "container" if docker_answers() else "embedded"


def _seeds_from_environment() -> dict[str, Path]:
    folder = os.environ.get(_NATS_SEEDS)
    return {path.stem: path for path in sorted(Path(folder).glob("*.nk"))} if folder else {}
