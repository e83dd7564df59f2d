"""A whole Locktender of real processes for tests: quick deadlines, a quick cluster, and everything can be killed.

async with running_system() as rig:
    task = await rig.deploy(manifests("shop"))
    await rig.kill("runner")
    snapshot = await rig.ended(task)
"""

import asyncio
import os
import signal
from collections.abc import AsyncGenerator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from typing import Any
from uuid import uuid4

import asyncpg
import httpx

from locktender.cli.local.folder import LocalFolder
from locktender.cli.local.services import SERVICES, LocalOptions
from locktender.cli.local.steps import StepReport
from locktender.cli.local.system import LocalSystem, local_system
from locktender.contracts.deployments.flow import DEPLOYMENT_TASK
from locktender.contracts.deployments.policy import Deadlines
from locktender.embedded import orphans
from locktender.embedded.nats import NatsSettings
from locktender.runtime.bus import Bus
from locktender.runtime.connect import connect_bus
from locktender.storage.kernel.database import open_database
from locktender.storage.verify import Tolerance, Violation, violations
from locktender.testkit.cluster import SandboxCluster
from locktender.testkit.faults import FaultSwitch
from locktender.testkit.nats_rig import eventually
from locktender.testkit.scratch import scratch_dir

DEADLINES = Deadlines(start=20, cancel_ack=6, run=120, readiness=60, hint=2)
LEASE_SECONDS = 2.0
PATIENCE = 60.0
"""Seconds within which everything has to come to its end. The machine may be busy, so nothing expects less."""

_WORKSPACE = "main"
_LAST_WORDS = 1500
_RENEWALS_PER_LEASE = 3.3


def settings(lease_seconds: float = LEASE_SECONDS) -> dict[str, str]:
    """What services are told, so that a lost lease is noticed within seconds."""
    return {
        "LOCKTENDER_LEASE_TTL_SECONDS": str(lease_seconds),
        "LOCKTENDER_RENEW_SECONDS": str(round(lease_seconds / _RENEWALS_PER_LEASE, 2)),
        "LOCKTENDER_DRAIN_SECONDS": "10",
        "LOCKTENDER_REAPER_SWEEP_SECONDS": "0.5",
        "LOCKTENDER_OUTBOX_WATCH_SECONDS": "1",
        "LOCKTENDER_OUTBOX_SHARD_TTL_SECONDS": "2",
        "LOCKTENDER_OUTBOX_SHARD_RENEW_SECONDS": "0.6",
    } | {f"LOCKTENDER_DEADLINES__{name.upper()}": str(value) for name, value in DEADLINES.model_dump().items()}


@dataclass(frozen=True, slots=True)
class Address:
    """The bus, as the identity that may do everything."""

    nats_url: str
    nats_seed_file: Path | None


@dataclass(frozen=True, slots=True)
class ToldEvent:
    """An event as JetStream holds it."""

    sequence: int
    subject: str
    revision: int
    kind: str


class SystemRig:
    """A system that answers, and the levers that crash tests pull."""

    def __init__(self, folder: Path, system: LocalSystem, http: httpx.AsyncClient, faults: FaultSwitch) -> None:
        self.folder = folder
        self.system = system
        self.http = http
        self.faults = faults
        self.kubeconfig = system.kubeconfig.read_text(encoding="utf-8")
        self.dsn = system.postgres.dsn()
        state = system.kubeconfig.parent
        self.cluster = SandboxCluster(
            server=f"https://127.0.0.1:{(state / 'port').read_text().strip()}",
            token=(state / "token").read_text().strip(),
            ca_pem=(state / "ca.crt").read_text(),
            state=state,
        )

    # -- the API, as a patient caller uses it

    async def ask(self, method: str, path: str, **options: Any) -> httpx.Response:
        """The first answer that is neither a broken connection nor 503. Asking again has to be safe.

        Raises:
            TimeoutError: none came.
        """
        async with asyncio.timeout(PATIENCE):
            while True:
                with suppress(httpx.TransportError):
                    response = await self.http.request(method, path, **options)
                    if response.status_code != HTTPStatus.SERVICE_UNAVAILABLE:
                        return response
                await asyncio.sleep(0.1)

    async def deploy(self, manifests: str, *, kubeconfig: str | None = None, project: str = "chaos") -> str:
        """Ask for a deployment until the API has taken it; the id of the task."""
        body = {
            "source": {"kind": "manifests", "manifests": manifests},
            "target": {"project": project, "namespace": "default"},
            "kubeconfig": kubeconfig or self.kubeconfig,
        }
        response = await self.ask("POST", tasks(), json=body, headers={"Idempotency-Key": uuid4().hex})
        assert response.status_code in {HTTPStatus.CREATED, HTTPStatus.OK}, response.text
        return response.json()["task"]["id"]

    async def snapshot(self, task_id: str) -> dict[str, Any]:
        """The task as the API shows it."""
        response = await self.ask("GET", tasks(f"/{task_id}"))
        assert response.status_code == HTTPStatus.OK, response.text
        return response.json()

    async def cancel(self, task_id: str) -> bool:
        """Ask to stop. False: the task had ended in another way."""
        response = await self.ask("POST", tasks(f"/{task_id}/cancel"))
        assert response.status_code in {HTTPStatus.OK, HTTPStatus.CONFLICT}, response.text
        return response.status_code == HTTPStatus.OK

    async def until(self, task_id: str, *statuses: str, seconds: float = PATIENCE) -> dict[str, Any]:
        """The first snapshot that is seen in one of `statuses`.

        Raises:
            AssertionError: the task did not get there.
        """
        latest: dict[str, Any] = {}

        async def there() -> bool:
            nonlocal latest
            latest = await self.snapshot(task_id)
            return latest["task"]["status"] in statuses or await _not_yet()

        try:
            await eventually(there, seconds)
        except TimeoutError:
            wanted = " or ".join(statuses)
            raise AssertionError(f"task {task_id} is not {wanted} after {seconds:g} s: {latest.get('task')}") from None
        return latest

    async def ended(self, task_id: str, seconds: float = PATIENCE) -> dict[str, Any]:
        """The snapshot of the task once it has ended."""
        return await self.until(task_id, *DEPLOYMENT_TASK.terminal, seconds=seconds)

    async def events(self, task_id: str) -> list[dict[str, Any]]:
        """Every recorded event of a task, oldest first."""
        found: list[dict[str, Any]] = []
        while True:
            after = found[-1]["revision"] if found else 0
            page = (await self.ask("GET", tasks(f"/{task_id}/events"), params={"after": after})).json()["events"]
            if not page:
                return found
            found += page

    # -- what lies beneath

    @asynccontextmanager
    async def sql(self) -> AsyncGenerator["asyncpg.Connection[asyncpg.Record]"]:
        """A superuser's connection."""
        connection = await asyncpg.connect(self.dsn, timeout=20)
        try:
            yield connection
        finally:
            await connection.close(timeout=10)

    async def violations(self) -> list[Violation]:
        """The invariants that the database breaks."""
        tolerance = Tolerance(publish=PATIENCE, sweep=PATIENCE, deadlines=DEADLINES)
        async with open_database(self.dsn, name="locktender-verify", size=1, deadline=60) as database:
            return await violations(database, tolerance)

    @asynccontextmanager
    async def bus(self) -> AsyncGenerator[Bus]:
        """A connection that may do everything."""
        address = Address(self.system.nats.url, self.system.nats.seeds["admin"])
        bus = await connect_bus(address, "admin", first_connect_seconds=20)
        try:
            yield bus
        finally:
            await bus.close()

    # -- the levers

    def pid(self, name: str) -> int | None:
        """The process of a service, of `cluster`, `postgres` or `nats`; None while there is none."""
        if name == "postgres":
            return _postmaster(self.folder)
        if name == "nats":
            return next(iter(orphans.naming("nats-server", self.folder / "nats" / "nats.conf")), None)
        return self.system.processes[name].pid

    def signal(self, name: str, number: signal.Signals) -> int:
        """Send a signal; the process that got it."""
        pid = self.pid(name)
        assert pid is not None, f"{name} does not run"
        os.kill(pid, number)
        return pid

    async def kill(self, name: str) -> None:
        """Kill as the kernel does when memory runs out, and return when another process stands in its place."""
        await self.replaced(name, self.signal(name, signal.SIGKILL))

    async def replaced(self, name: str, former: int) -> None:
        """Return when a service runs in another process than `former`, and is ready."""
        await eventually(lambda: self.pid(name) not in {None, former}, PATIENCE)
        if name in SERVICES:
            await self.ready(name)

    async def ready(self, *names: str) -> None:
        """Return when these services, or all of them, say that they are ready."""
        known = LocalFolder(self.folder)
        for name in names or SERVICES:
            await self._ready(name, known.port(name))

    async def _ready(self, name: str, port: int | None) -> None:
        said = "nothing"

        async def is_ready() -> bool:
            nonlocal said
            try:
                answer = await self.http.get(f"http://127.0.0.1:{port}/readyz")
            except httpx.TransportError as error:
                said = type(error).__name__
                return await _not_yet()
            said = answer.text
            return answer.is_success or await _not_yet()

        try:
            await eventually(is_ready, PATIENCE)
        except TimeoutError:
            raise AssertionError(f"{name} is not ready after {PATIENCE:g} s; it says: {said}") from None


def tasks(rest: str = "") -> str:
    """An address below the tasks of the workspace that tests use."""
    return f"/v1/workspaces/{_WORKSPACE}/deployment-tasks{rest}"


@asynccontextmanager
async def running_system(
    *,
    lease_seconds: float = LEASE_SECONDS,
    pace: float = 0.1,
    folder: Path | None = None,
    environment: Mapping[str, str] | None = None,
) -> AsyncGenerator[SystemRig]:
    """A system for as long as the block lasts; every service has fault points that `rig.faults` arms.

    Args:
        lease_seconds: time to live of a lease.
        pace: factor on the delays of the sandbox cluster.
        folder: where it keeps its state; a new folder that is removed afterwards when left out.
        environment: further variables of every service.

    Raises:
        Exception: whatever ended the system while the test still used it.
    """
    async with AsyncExitStack() as stack:
        place = folder or stack.enter_context(scratch_dir())
        faults = FaultSwitch(place / "faults")
        options = LocalOptions(
            environment={**settings(lease_seconds), **faults.environment, **(environment or {})},
            modules={name: faults.module(name) for name in SERVICES},
            cluster=("--pace", str(pace)),
            healthy_seconds=0.0,
        )
        system = await stack.enter_async_context(_hosted(place, options))
        headers = {"Authorization": f"Bearer {system.token}"}
        http = httpx.AsyncClient(base_url=system.url, headers=headers, timeout=20, trust_env=False)
        await stack.enter_async_context(http)
        yield SystemRig(place, system, http, faults)


@asynccontextmanager
async def _hosted(folder: Path, options: LocalOptions) -> AsyncGenerator[LocalSystem]:
    """The system in a task of its own, so that its failure becomes one error here instead of a cancelled test."""
    started: asyncio.Future[LocalSystem] = asyncio.get_running_loop().create_future()
    enough = asyncio.Event()
    failures: list[Exception] = []
    notes: list[StepReport] = []

    async def host() -> None:
        try:
            async with local_system(folder, notes.append, options, nats=NatsSettings(sync="1s", admin=True)) as system:
                started.set_result(system)
                await enough.wait()
        except Exception as error:  # noqa: BLE001 - raised again below, by whoever waits for it
            error.add_note(_last_words(folder))
            failures.append(error)
            if not started.done():
                started.cancel()

    async with asyncio.TaskGroup() as group:
        running = group.create_task(host())
        try:
            await asyncio.wait({started, running}, return_when=asyncio.FIRST_COMPLETED)
            if not failures:
                yield started.result()
        finally:
            enough.set()
    if failures:
        raise failures[0]


def _last_words(folder: Path) -> str:
    """The ends of all logs, which go with the folder."""
    logs = sorted([*folder.glob("logs/*.log"), *folder.glob("*.log")])
    return "\n".join(f"--- {log.name}\n{log.read_text(errors='replace')[-_LAST_WORDS:]}" for log in logs)


async def _not_yet() -> bool:
    """False, after a pause: questions over HTTP must not keep the machine from answering them."""
    await asyncio.sleep(0.1)
    return False


def _postmaster(folder: Path) -> int | None:
    try:
        return int((folder / "postgres" / "data" / "postmaster.pid").read_text(encoding="utf-8").splitlines()[0])
    except (OSError, ValueError, IndexError):
        return None
