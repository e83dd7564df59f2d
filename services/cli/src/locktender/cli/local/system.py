"""A whole Locktender on this machine: PostgreSQL, NATS, every service as its own process, a sandbox cluster."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType

import httpx

from locktender.cli.local.folder import LocalFolder
from locktender.cli.local.services import SERVICES, LocalOptions, cluster_spec, service_spec
from locktender.cli.local.steps import Report, StepReport, StepState
from locktender.contracts.kernel.errors import Unavailable
from locktender.embedded import ports
from locktender.embedded.errors import EmbeddedError
from locktender.embedded.nats import NatsAddress, NatsSettings, NatsSupervisor
from locktender.embedded.postgres import PostgresAddress, PostgresSettings, PostgresSupervisor
from locktender.embedded.services import Restart, ServiceProcess, ServiceSpec
from locktender.runtime.clock import SystemClock
from locktender.storage.migrations import migrate
from locktender.storage.roles import apply_roles

_READY_SECONDS = 60.0
_POLL_SECONDS = 0.1
_STOP_SECONDS = 45.0
_RESTARTS = 20


@dataclass(frozen=True, slots=True)
class LocalSystem:
    """A system that answers.

    Attributes:
        url: the API.
        token: the admin token.
        kubeconfig: of the sandbox cluster.
        postgres: the database, with its owner's password.
        processes: the services by name, with `pid`; for tests that kill them.
    """

    url: str
    token: str = field(repr=False)
    kubeconfig: Path
    postgres: PostgresAddress
    nats: NatsAddress
    processes: dict[str, ServiceProcess]


@asynccontextmanager
async def local_system(
    path: Path, report: Report, options: LocalOptions | None = None, *, nats: NatsSettings | None = None
) -> AsyncGenerator[LocalSystem]:
    """Start everything, yield when it is ready, stop everything. Data stays for the next start.

    Raises:
        EmbeddedError: a step failed; it says which, and what to do.
    """
    folder = LocalFolder(path)
    folder.acquire()
    try:
        async with _Local(folder, report, options or LocalOptions(), nats or NatsSettings(sync="1s")) as system:
            yield system
    finally:
        folder.withdraw()
        folder.release()


class _Local:
    def __init__(self, folder: LocalFolder, report: Report, options: LocalOptions, nats: NatsSettings) -> None:
        self._folder = folder
        self._report = report
        self._options = options
        self._postgres = PostgresSupervisor(folder.path, settings=PostgresSettings())
        self._nats = NatsSupervisor(folder.path, nats)
        self._group = asyncio.TaskGroup()
        self._processes: dict[str, ServiceProcess] = {}
        self._services: list[asyncio.Task[None]] = []
        self._servers: list[asyncio.Task[None]] = []

    async def __aenter__(self) -> LocalSystem:
        await self._group.__aenter__()
        try:
            return await self._start()
        except BaseException as error:
            await self._stop()
            await self._group.__aexit__(type(error), error, error.__traceback__)
            raise

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._stop()
        if kind is asyncio.CancelledError:
            # Either the caller was cancelled or a watch failed; the group knows which, and raises its own error.
            await self._group.__aexit__(kind, error, trace)
        else:
            await self._group.__aexit__(None, None, None)

    async def _start(self) -> LocalSystem:
        ready_file = self._folder.path / "cluster.ready"
        await asyncio.to_thread(ready_file.unlink, missing_ok=True)
        self._supervise(cluster_spec(self._folder, ready_file, self._options))
        async with asyncio.TaskGroup() as both:
            database = both.create_task(self._database())
            broker = both.create_task(self._broker())
        postgres, nats = database.result(), broker.result()
        self._servers = [self._group.create_task(keep) for keep in (self._keep_postgres(), self._keep_nats())]
        chosen = self._ports()
        for name in SERVICES:
            self._supervise(service_spec(name, self._folder, postgres, nats, chosen, self._options))
        await self._services_ready(chosen)
        await self._cluster_ready(ready_file)
        url = f"http://127.0.0.1:{chosen['http']}"
        token = self._folder.secrets().admin_token
        self._folder.publish(url, token, postgres.dsn())
        return LocalSystem(url, token, self._folder.kubeconfig, postgres, nats, self._processes)

    async def _database(self) -> PostgresAddress:
        self._say("PostgreSQL", StepState.STARTED)
        address = await self._postgres.start()
        try:
            await migrate(address.dsn())
            passwords = {name: self._folder.role_password(name) for name in SERVICES}
            await apply_roles(address.dsn(), passwords)
        except Unavailable as error:
            raise EmbeddedError("schema", str(error), f"See {self._folder.path / 'postgres.log'}.") from error
        self._say("PostgreSQL", StepState.DONE, f"127.0.0.1:{address.port}, schema up to date")
        return address

    async def _broker(self) -> NatsAddress:
        self._say("NATS JetStream", StepState.STARTED)
        address = await self._nats.start()
        self._say("NATS JetStream", StepState.DONE, address.url)
        return address

    def _ports(self) -> dict[str, int]:
        chosen: dict[str, int] = {}
        for name in (*SERVICES, "http"):
            wanted = self._folder.port(name)
            while (port := ports.choose(wanted)) in chosen.values():
                wanted = None
            chosen[name] = port
            self._folder.remember_port(name, port)
        return chosen

    async def _services_ready(self, chosen: dict[str, int]) -> None:
        async with httpx.AsyncClient(trust_env=False, timeout=6.0) as http, asyncio.TaskGroup() as group:
            for name in SERVICES:
                group.create_task(self._service_ready(http, name, chosen[name]))

    async def _service_ready(self, http: httpx.AsyncClient, name: str, port: int) -> None:
        self._say(name, StepState.STARTED)
        await self._until(name, lambda: _answers(http, f"http://127.0.0.1:{port}/readyz"))
        process = self._processes[name]
        self._say(name, StepState.DONE, f"pid {process.pid}")

    async def _cluster_ready(self, ready_file: Path) -> None:
        self._say("sandbox cluster", StepState.STARTED)
        await self._until("cluster", lambda: asyncio.to_thread(ready_file.exists))
        self._say("sandbox cluster", StepState.DONE, await asyncio.to_thread(ready_file.read_text))

    async def _until(self, name: str, ready: Callable[[], Awaitable[bool]]) -> None:
        for _ in range(int(_READY_SECONDS / _POLL_SECONDS)):
            if await ready():
                return
            await asyncio.sleep(_POLL_SECONDS)
        log = self._folder.logs / f"{name}.log"
        raise EmbeddedError(name, f"was not ready after {_READY_SECONDS:.0f} seconds", f"See {log}.")

    def _supervise(self, spec: ServiceSpec) -> None:
        process = ServiceProcess(spec, clock=SystemClock(), report=self._restarted)
        self._processes[spec.name] = process
        self._services.append(self._group.create_task(process.supervise()))

    def _restarted(self, restart: Restart) -> None:
        note = f"ended with code {restart.code}; starting again in {restart.delay:.1f} s"
        self._say(restart.service, StepState.NOTE, note)

    async def _keep_postgres(self) -> None:
        for _ in range(_RESTARTS):
            code = await self._postgres.wait()
            self._say("PostgreSQL", StepState.NOTE, f"ended with code {code}; starting again")
            await self._postgres.start()
        raise EmbeddedError("postgres", "ended too often", f"See {self._folder.path / 'postgres.log'}.")

    async def _keep_nats(self) -> None:
        for _ in range(_RESTARTS):
            code = await self._nats.wait()
            self._say("NATS JetStream", StepState.NOTE, f"ended with code {code}; starting again")
            await self._nats.start()
        raise EmbeddedError("nats", "ended too often", f"See {self._folder.path / 'nats.log'}.")

    async def _stop(self) -> None:
        """Services first, then what they need, each with its own deadline in its supervisor."""
        for process in self._processes.values():
            process.stop()
        if self._services:
            await asyncio.wait(self._services, timeout=_STOP_SECONDS)
        for task in (*self._services, *self._servers):
            task.cancel()
        await self._nats.stop()
        await self._postgres.stop()

    def _say(self, step: str, state: StepState, note: str = "") -> None:
        self._report(StepReport(step, state, note))


async def _answers(http: httpx.AsyncClient, url: str) -> bool:
    try:
        return (await http.get(url)).is_success
    except httpx.TransportError:
        return False
