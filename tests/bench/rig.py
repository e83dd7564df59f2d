"""The servers of a measurement: one durable PostgreSQL, one NATS, and services as their own processes."""

import asyncio
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

import httpx

from locktender.cli.local.folder import LocalFolder
from locktender.cli.local.services import SERVICES, LocalOptions, cluster_spec, service_spec
from locktender.contracts.kernel.permissions import Identity
from locktender.embedded import ports
from locktender.embedded.nats import NatsSettings, NatsSupervisor
from locktender.embedded.postgres import PostgresSettings, PostgresSupervisor
from locktender.embedded.services import Restart, ServiceProcess, ServiceSpec
from locktender.runtime.clock import SystemClock
from locktender.storage.migrations import migrate
from locktender.storage.roles import apply_roles
from locktender.testkit.scratch import scratch_dir
from tests.bench.databases import Connection, connected
from tests.bench.report import note

REPOSITORY = Path(__file__).parents[2]
_READY_SECONDS = 60.0
_STATEMENTS = ("shared_preload_libraries=pg_stat_statements", "pg_stat_statements.track_utility=off")


@dataclass
class System:
    """Services that answer.

    Attributes:
        database: a superuser's connection to their database. One statement at a time.
    """

    url: str
    token: str = field(repr=False)
    database: Connection
    processes: Mapping[str, ServiceProcess]
    servers: Mapping[str, int]

    def pids(self) -> dict[str, int | None]:
        """Every process of the system, by name."""
        return {**self.servers, **{name: process.pid for name, process in self.processes.items()}}

    async def count(self, sql: str) -> int:
        """The number that a query answers."""
        return int(await self.database.fetchval(sql))


@dataclass
class Rig:
    """The servers. fsync and synchronous_commit are on, as they are for every user."""

    folder: LocalFolder
    postgres: PostgresSupervisor
    nats: NatsSupervisor
    nats_started: bool = False

    async def fresh(self, name: str) -> str:
        """The address of a new, empty database on the same server."""
        async with connected(self.postgres.dsn(database="postgres")) as admin:
            await admin.execute(f'create database "{name}"')
        return self.postgres.dsn(database=name)

    @asynccontextmanager
    async def system(
        self,
        names: Sequence[Identity] = SERVICES,
        *,
        environment: Mapping[str, str] | None = None,
        modules: Mapping[str, tuple[str, ...]] | None = None,
        cluster: bool = False,
    ) -> AsyncGenerator[System]:
        """Locktender's services over the migrated database of the server, for as long as the block lasts.

        Raises:
            RuntimeError: one was not ready within a minute; the message holds the end of its log.
        """
        note(f"starting {', '.join(names)}")
        dsn = self.postgres.dsn()
        await migrate(dsn)
        await self.nats.start()
        given = {"LOCKTENDER_NOOP_RUNNER": "true", "PYTHONPATH": str(REPOSITORY), **(environment or {})}
        options, chosen = LocalOptions(given, modules or {}), _ports()
        specs = [
            service_spec(name, self.folder, self.postgres.address, self.nats.address, chosen, options) for name in names
        ]
        await apply_roles(dsn, {spec.name: _password(spec) for spec in specs})
        ready = self.folder.path / "cluster.ready"
        specs += [cluster_spec(self.folder, ready, options)] if cluster else []
        processes = {spec.name: ServiceProcess(spec, clock=SystemClock(), report=_restarted) for spec in specs}
        servers = {"postgres": self.postgres.pid, "nats": self.nats.pid}
        async with asyncio.TaskGroup() as group, connected(dsn) as database:
            for process in processes.values():
                group.create_task(process.supervise())
            try:
                for name in names:
                    await self._until_ready(name, chosen[name])
                async with asyncio.timeout(_READY_SECONDS):
                    while cluster and not await asyncio.to_thread(ready.exists):  # noqa: ASYNC110 - another process
                        await asyncio.sleep(0.1)
                token = self.folder.secrets().admin_token
                yield System(f"http://127.0.0.1:{chosen['http']}", token, database, processes, servers)
            finally:
                for process in processes.values():
                    process.stop()

    async def _until_ready(self, name: str, port: int) -> None:
        try:
            async with asyncio.timeout(_READY_SECONDS), httpx.AsyncClient(trust_env=False, timeout=5) as http:
                while not await _answers(http, f"http://127.0.0.1:{port}/readyz"):  # noqa: ASYNC110 - another process
                    await asyncio.sleep(0.05)
        except TimeoutError as error:
            log = (self.folder.logs / f"{name}.log").read_text(encoding="utf-8", errors="replace")
            raise RuntimeError(f"{name} was not ready in time; it says\n{log[-2000:]}") from error


@asynccontextmanager
async def rig(*, statements: bool = False) -> AsyncGenerator[Rig]:
    """Servers in a folder of their own, removed afterwards. With `statements`, PostgreSQL counts every statement."""
    with scratch_dir() as path:
        folder = LocalFolder(path)
        folder.acquire()
        postgres = PostgresSupervisor(path, settings=PostgresSettings(options=_STATEMENTS if statements else ()))
        nats = NatsSupervisor(path, NatsSettings(sync="1s"))
        try:
            note("starting PostgreSQL")
            await postgres.start()
            yield Rig(folder, postgres, nats)
        finally:
            await nats.stop()
            await postgres.stop()
            folder.release()


def _password(spec: ServiceSpec) -> str:
    """The one with which the service will log in."""
    return urlsplit(spec.environment["LOCKTENDER_DATABASE_URL"]).password or ""


def _ports() -> dict[str, int]:
    chosen: dict[str, int] = {}
    for name in (*SERVICES, "http"):
        while (port := ports.choose()) in chosen.values():
            pass
        chosen[name] = port
    return chosen


async def _answers(http: httpx.AsyncClient, url: str) -> bool:
    try:
        return (await http.get(url)).is_success
    except httpx.TransportError:
        return False


def _restarted(restart: Restart) -> None:
    note(f"{restart.service} ended with code {restart.code}; starting again")
