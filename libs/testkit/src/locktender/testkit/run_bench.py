"""What a runner of stacks finds around it: a database, a bus with hints, an API that speaks the run protocol, a git.

async with run_bench(db, nats_server) as bench:
    async with running("runner", serve, bench.settings()):
        deployment = await bench.deploy()
        await bench.until(deployment, "waiting")
"""

import asyncio
import hashlib
import json
import os
import secrets
import shutil
import subprocess
from collections.abc import AsyncGenerator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias, cast
from uuid import UUID

import httpx
from litestar import Litestar, Router
from litestar.types import ASGIApp
from pydantic import SecretStr

from locktender.api.http.auth import AdminToken, Gate
from locktender.api.http.paging import Cursors
from locktender.api.http.problems import exception_handlers
from locktender.api.http.tracing import Tracing
from locktender.api.server import HttpServer
from locktender.api.stacks.identity.issuer import IdentityIssuer
from locktender.api.stacks.identity.settings import IdentitySettings
from locktender.api.stacks.remote.side import remote_handlers
from locktender.api.stacks.runs.bodies import RunLimits
from locktender.api.stacks.runs.side import RunSideGiven, open_runs
from locktender.api.stacks.runs.variables import place_of
from locktender.contracts.kernel import subjects
from locktender.contracts.stacks.patience import StackDeadlines
from locktender.contracts.stacks.vocabulary import DeploymentMode
from locktender.embedded import ports
from locktender.integrations.objects.cipher import Cipher
from locktender.integrations.objects.keys import KeyRing
from locktender.integrations.objects.store import ObjectStore
from locktender.runner.settings import RunnerSettings
from locktender.runtime.bus import Bus
from locktender.runtime.clock import SystemClock
from locktender.storage.kernel.database import Row, Transaction
from locktender.storage.stacks.cancel import request_cancel
from locktender.storage.stacks.confirm import confirm_apply
from locktender.testkit.database import TestDatabase
from locktender.testkit.nats_rig import eventually
from locktender.testkit.runner import connected_as, fresh_commands
from locktender.testkit.scratch import scratch_dir
from locktender.testkit.servers import NatsServer
from locktender.testkit.stacks import StackRig, new_stack

ADMIN = "admin-token-of-run-bench"
PATIENCE = 40.0

Around: TypeAlias = Callable[[ASGIApp], ASGIApp]
"""Puts something between the API and its callers."""


@dataclass(frozen=True, slots=True)
class RunBench:
    """One stack, whose configuration is a repository of this machine."""

    rig: StackRig
    nats: NatsServer
    bus: Bus
    http: httpx.AsyncClient
    url: str
    folder: Path
    keys: KeyRing

    async def secret(self, name: str, value: str) -> None:
        """Give the stack a sensitive variable."""
        sealed = Cipher(self.keys).seal(place_of(self.rig.stack_id, "variable", name), value.encode())
        await self.rig.db.admin.execute(
            "insert into locktender.stack_variable (stack_id, kind, name, sealed, updated_by)"
            " values ($1, 'variable', $2, $3, 'ada')",
            self.rig.stack_id, name, sealed,
        )  # fmt: skip

    @property
    def work_dir(self) -> Path:
        """Where runs work."""
        return self.folder / "w"

    def settings(self, **stated: Any) -> RunnerSettings:
        """Of a runner service that notices a lost lease within seconds."""
        given: dict[str, Any] = {
            "database_url": SecretStr(self.rig.db.dsn), "nats_url": self.nats.url, "instance": "runner-1",
            "nats_seed_file": self.nats.seeds.get("runner"), "api_url": self.url, "stack_work_dir": self.work_dir,
            "stack_git_schemes": frozenset({"file"}), "lease_ttl_seconds": 3.0, "renew_seconds": 0.5,
            "drain_seconds": 20.0,
        }  # fmt: skip
        return RunnerSettings(**(given | stated))

    def environment(self) -> dict[str, str]:
        """The same for a runner service that is a process of its own."""
        seed = self.nats.seeds.get("runner")
        return {
            "PATH": os.environ["PATH"],
            "LOCKTENDER_DATABASE_URL": self.rig.db.dsn,
            "LOCKTENDER_NATS_URL": self.nats.url,
            **({"LOCKTENDER_NATS_SEED_FILE": str(seed)} if seed else {}),
            "LOCKTENDER_API_URL": self.url,
            "LOCKTENDER_STACK_WORK_DIR": str(self.work_dir),
            "LOCKTENDER_STACK_GIT_SCHEMES": '["file"]',
            "LOCKTENDER_LEASE_TTL_SECONDS": "3",
            "LOCKTENDER_RENEW_SECONDS": "0.5",
        }

    def commit(self, configuration: str) -> str:
        """Commit a configuration; the id of the commit."""
        (self.folder / "infra" / "main.tf").write_text(configuration, encoding="utf-8")
        for words in (["add", "-A"], ["commit", "-q", "--allow-empty", "-m", "change"]):
            _git(self.folder / "infra", *words)
        return _git(self.folder / "infra", "rev-parse", "HEAD").strip()

    async def deploy(self, configuration: str, mode: DeploymentMode = DeploymentMode.PLAN, *, hints: int = 1) -> UUID:
        """A deployment of a configuration, and the hint of its first run."""
        commit = await asyncio.to_thread(self.commit, configuration)
        source = {"kind": "git", "url": f"file://{self.folder}/infra", "ref": "main", "path": "."}
        deployment = await self.rig.deploy(mode, source=source, commit_sha=commit)
        await self.hint(deployment, hints)
        return deployment

    async def hint(self, deployment: UUID, hints: int = 1) -> None:
        """Send the command of the run that waits, as the relay does."""
        run = await self.rig.open_run(deployment)
        assert run is not None
        for _ in range(hints):
            subject = subjects.run_command(run["runner_group"])
            await self.bus.jetstream.publish(subject, json.dumps({"id": str(run["id"])}).encode())

    async def confirm(self, deployment: UUID) -> None:
        """Say yes to the plan, as the API does."""

        async def work(tx: Transaction) -> Row:
            return await confirm_apply(tx, deployment, "ada", plan_digest=None, variables_digest=None, trace={})

        await self.rig.transact(work)
        await self.hint(deployment)

    async def cancel(self, deployment: UUID) -> None:
        """Ask for a cancel, as the API does."""
        await self.rig.transact(lambda tx: request_cancel(tx, deployment, "ada", {}))
        run = await self.rig.open_run(deployment)
        if run is not None:
            await self.bus.publish(subjects.cancel(run["id"]), b"")

    async def until(self, deployment: UUID, *statuses: str) -> Row:
        """The deployment, once it is in one of these states.

        Raises:
            AssertionError: it did not get there; says where it is.
        """
        row = await self.rig.deployment(deployment)

        async def there() -> bool:
            nonlocal row
            row = await self.rig.deployment(deployment)
            return row["status"] in statuses

        try:
            await eventually(there, PATIENCE)
        except TimeoutError:
            raise AssertionError(f"{row['status']} after {PATIENCE:g} s: {row['failure']}") from None
        return row

    async def log(self, deployment: UUID) -> str:
        """The log of the latest run, as a person reads it."""
        stack, row = await self.rig.stack(), await self.rig.deployment(deployment)
        run = (await self.rig.runs(deployment))[-1]
        place = f"/v1/workspaces/acme/stacks/{stack['name']}/deployments/{row['number']}/runs/{run['id']}/log"
        return (await self.http.get(place)).text

    async def logged(self, deployment: UUID, words: str) -> None:
        """Return once the log of the latest run has these words.

        Raises:
            AssertionError: it has not got them; says what it has.
        """
        log = ""

        async def there() -> bool:
            nonlocal log
            log = await self.log(deployment)
            return words in log

        try:
            await eventually(there, PATIENCE)
        except TimeoutError:
            run = (await self.rig.runs(deployment))[-1]
            raise AssertionError(f"a run that is {run['status']} did not log {words}: {log}") from None


@asynccontextmanager
async def run_bench(
    db: TestDatabase, nats: NatsServer, *, around: Around | None = None, identity_keys: str | None = None, **stack: Any
) -> AsyncGenerator[RunBench]:
    """A bench with fresh streams.

    `around` wraps the API as a whole; `identity_keys` sign identity tokens; `stack` are columns of the stack.
    """
    async with AsyncExitStack() as opened:
        folder = opened.enter_context(scratch_dir())
        bus = await opened.enter_async_context(connected_as(nats, "admin"))
        api_bus = await opened.enter_async_context(connected_as(nats, "api"))
        await fresh_commands(bus)
        await asyncio.to_thread(_repository, folder / "infra")
        port = ports.choose(None)
        url = f"http://127.0.0.1:{port}"
        identity = IdentitySettings(keys=None if identity_keys is None else SecretStr(identity_keys))
        given = _given(db, api_bus, folder, url, identity)
        side = await opened.enter_async_context(open_runs(given))
        handlers = [*side.handlers, *remote_handlers(db.database, api_bus, given.gate, given.tracing, given.deadlines)]
        app = Litestar(
            [Router("/v1", route_handlers=handlers)],
            exception_handlers=exception_handlers(),
            logging_config=None,
            openapi_config=None,
        )
        watched = cast("Litestar", around(app)) if around else app
        await opened.enter_async_context(_served(HttpServer(watched, "127.0.0.1", port, drain_seconds=1)))
        headers = {"Authorization": f"Bearer {ADMIN}"}
        http = await opened.enter_async_context(
            httpx.AsyncClient(base_url=url, headers=headers, timeout=20, trust_env=False)
        )
        yield RunBench(await new_stack(db, **stack), nats, bus, http, url, folder, given.keys)
        side.tails.close()


def _given(db: TestDatabase, bus: Bus, folder: Path, url: str, identity: IdentitySettings) -> RunSideGiven:
    keys, clock = KeyRing([secrets.token_bytes(32)]), SystemClock()
    (folder / "objects").mkdir()
    return RunSideGiven(
        database=db.database,
        bus=bus,
        clock=clock,
        store=ObjectStore.open((folder / "objects").as_uri(), keys),
        keys=keys,
        gate=Gate([AdminToken(hashlib.sha256(ADMIN.encode()).hexdigest())]),
        cursors=Cursors(b"a-key-of-cursors"),
        public_url=url,
        deadlines=StackDeadlines(assignment=60, execution=20, run_ttl=75, run_grace=15),
        tracing=Tracing(exported=False),
        limits=RunLimits(),
        heartbeat=5,
        most_streams=10,
        identity=IdentityIssuer.of(identity, url, clock),
    )


@asynccontextmanager
async def _served(server: HttpServer) -> AsyncGenerator[None]:
    async with asyncio.TaskGroup() as group:
        group.create_task(server.serve())
        await server.started()
        try:
            yield
        finally:
            server.stop()


def _repository(folder: Path) -> None:
    folder.mkdir()
    _git(folder, "init", "-q", "-b", "main")


def _git(folder: Path, *words: str) -> str:
    who = ["-c", "user.name=Ada", "-c", "user.email=ada@example.test", "-c", "commit.gpgsign=false"]
    command = [shutil.which("git") or "git", *who, *words]
    return subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True).stdout
