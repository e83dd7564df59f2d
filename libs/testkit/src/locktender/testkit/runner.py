"""What a runner finds around it: a database with tasks, a bus with commands, an API that holds credentials.

async with task_bench(db, nats_server) as bench:
    async with bench.service("runner", serve, settings):
        task = await bench.deploy(manifests, kubeconfig=cluster.kubeconfig)
        ended = await bench.ended(task)
"""

import asyncio
import json
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar
from uuid import UUID

from nats.js.api import AckPolicy, ConsumerConfig, RetentionPolicy, StreamConfig
from nats.js.errors import NotFoundError

from locktender.contracts.deployments.flow import DEPLOYMENT_TASK, TaskStatus
from locktender.contracts.deployments.inputs import Asked
from locktender.contracts.deployments.models import ApplyOptions, Card, Timeline
from locktender.contracts.kernel import subjects
from locktender.contracts.kernel.clock import Clock
from locktender.contracts.kernel.faults import NO_FAULTS, FaultPoints
from locktender.contracts.kernel.ids import new_owner
from locktender.runtime.bus import Bus
from locktender.runtime.clock import SystemClock
from locktender.runtime.connect import connect_bus
from locktender.runtime.custody import Custodian
from locktender.runtime.health import Health
from locktender.runtime.service import Service
from locktender.runtime.settings import ProcessSettings
from locktender.runtime.stop import Stop
from locktender.storage.deployments.reads import DeploymentReads, SnapshotRow
from locktender.testkit.database import TestDatabase
from locktender.testkit.nats_rig import eventually
from locktender.testkit.recorded_run import stored_source, stored_template
from locktender.testkit.rows import new_task, told
from locktender.testkit.servers import NatsServer

WORKSPACE = "acme"
CUSTODIAN = "api-1"

S = TypeVar("S", bound=ProcessSettings)


@dataclass(frozen=True, slots=True)
class Seen:
    """A task as a person sees it."""

    row: SnapshotRow

    @property
    def status(self) -> str:
        return self.row.task.status

    @property
    def failure(self) -> dict[str, Any]:
        return self.row.task.failure or {}

    @property
    def timeline(self) -> Timeline:
        return Timeline.model_validate_json(self.row.timeline)

    @property
    def asked(self) -> Asked:
        """What it waits for."""
        return Asked.model_validate(self.row.task.asked)

    @property
    def kinds(self) -> list[str]:
        """The kinds of its events, oldest first."""
        return [event["kind"] for event in self.row.events]

    @property
    def last(self) -> dict[str, Any]:
        """Its latest event."""
        return self.row.events[-1]

    def card(self, kind: str, name: str) -> Card:
        """The card of one object."""
        return next(card for card in self.timeline.cards if (card.ref.kind, card.ref.name) == (kind, name))


@dataclass(slots=True)
class Running:
    """A service in the process of the test."""

    stop: Stop
    health: Health
    bus: Bus


class QuickClock(SystemClock):
    """The machine's clock, `factor` times as fast: for graces that nobody wants to wait for."""

    def __init__(self, factor: float) -> None:
        self._factor = factor

    def monotonic(self) -> float:
        return super().monotonic() * self._factor

    async def sleep(self, seconds: float) -> None:
        await super().sleep(seconds / self._factor)


class Held:
    """Fault points of which one holds whoever reaches it, until released."""

    def __init__(self, name: str, *, after: int = 0) -> None:
        self._name = name
        self._let_by = after
        self.reached = asyncio.Event()
        self.released = asyncio.Event()

    async def reach(self, name: str) -> None:
        """Hold at the named point, after letting the first few by."""
        if name != self._name or self.released.is_set():
            return
        if self._let_by:
            self._let_by -= 1
            return
        self.reached.set()
        await self.released.wait()


@dataclass(frozen=True, slots=True)
class _Address:
    nats_url: str
    nats_seed_file: Path | None


@dataclass
class TaskBench:
    """Creates tasks as the API does, holds their credentials, sends their commands, sees what became of them."""

    db: TestDatabase
    nats: NatsServer
    bus: Bus = field(repr=False)
    custodian: Custodian = field(repr=False)

    def __post_init__(self) -> None:
        self.writes = self.db.writes
        self.reads = DeploymentReads(self.db.database)

    async def deploy(
        self,
        manifests: str,
        *,
        kubeconfig: str,
        namespace: str | None = "default",
        options: ApplyOptions | None = None,
        held: bool = True,
        hint: bool = True,
    ) -> UUID:
        """A queued task of the direct runner. With `held` false, nobody holds its credentials."""
        source, secrets = stored_source(manifests, options)
        task = new_task(workspace=WORKSPACE, runner="direct", namespace=namespace, custodian=CUSTODIAN, source=source)
        if held:
            held_secrets = {str(index): body for index, body in secrets.items()}
            self.custodian.hold(task.id, json.dumps({"kubeconfig": kubeconfig, "secrets": held_secrets}).encode(), 60)
        assert await self.writes.create(task)
        if hint:
            await self.hint(task.id, "direct")
        return task.id

    async def deploy_template(
        self,
        template: str,
        *,
        kubeconfig: str,
        given: Mapping[str, str] | None = None,
        predecessor: UUID | None = None,
        hint: bool = True,
        **stored: Any,
    ) -> UUID:
        """A queued task of the template runner; `given` are its secret inputs, `stored` as for `stored_template`.

        With a `predecessor`, what that has named goes over to it.
        """
        task = new_task(
            workspace=WORKSPACE, runner="template", namespace="default", custodian=CUSTODIAN,
            source=stored_template(template, sensitive=stored.pop("sensitive", list(given or {})), **stored),
            predecessor_id=predecessor, inherit=predecessor is not None,
        )  # fmt: skip
        self._hold(task.id, kubeconfig, given or {})
        assert await self.writes.create(task)
        if hint:
            await self.hint(task.id, "template")
        return task.id

    async def submit(
        self,
        task_id: UUID,
        values: Mapping[str, str],
        *,
        kubeconfig: str,
        runner: str = "template",
        held: bool = True,
    ) -> None:
        """Answer what a blocked task asks, as the API does. With `held` false, the values get lost at once."""
        if held:
            self._hold(task_id, kubeconfig, values)
        else:
            self.custodian.drop(task_id)
        await self.writes.submit_input(task_id, "ada", CUSTODIAN, told("inputs were submitted", actor="api"))
        await self.hint(task_id, runner)

    def _hold(self, task_id: UUID, kubeconfig: str, inputs: Mapping[str, str]) -> None:
        payload = {"kubeconfig": kubeconfig, "secrets": {}, "inputs": dict(inputs)}
        self.custodian.hold(task_id, json.dumps(payload).encode(), 60)

    async def blocked(self, task_id: UUID, seconds: float = 20.0) -> Asked:
        """What a task asks for, once it does."""
        seen = await self.until(task_id, lambda seen: seen.status == TaskStatus.BLOCKED, seconds)
        return seen.asked

    async def noop(self) -> UUID:
        """A queued task of the no-op runner."""
        task = new_task(workspace=WORKSPACE, runner="noop")
        assert await self.writes.create(task)
        await self.hint(task.id, "noop")
        return task.id

    async def hint(self, task_id: UUID, runner: str) -> None:
        """Send the command of a task, as the relay does."""
        await self.bus.jetstream.publish(subjects.deployment_command(runner), json.dumps({"id": str(task_id)}).encode())

    async def cancel(self, task_id: UUID, *, poke: bool = True) -> None:
        """Ask for a cancel, as the API does."""
        await self.writes.request_cancel(task_id, "ada", told("a cancel was asked for", actor="api"))
        if poke:
            await self.bus.publish(subjects.cancel(task_id), b"")

    async def seen(self, task_id: UUID) -> Seen:
        """The task now."""
        row = await self.reads.snapshot(WORKSPACE, task_id)
        assert row is not None
        return Seen(row)

    async def until(self, task_id: UUID, condition: Callable[[Seen], bool], seconds: float = 20.0) -> Seen:
        """The task, as soon as `condition` holds of it.

        Raises:
            AssertionError: it did not hold in time; says how the task stands.
        """
        seen = await self.seen(task_id)

        async def holds() -> bool:
            nonlocal seen
            seen = await self.seen(task_id)
            return condition(seen)

        try:
            await eventually(holds, seconds)
        except TimeoutError:
            raise AssertionError(f"still not: {seen.row}") from None
        return seen

    async def ended(self, task_id: UUID, seconds: float = 30.0) -> Seen:
        """The task, once it is over."""
        return await self.until(task_id, lambda seen: TaskStatus(seen.status) in DEPLOYMENT_TASK.terminal, seconds)

    @asynccontextmanager
    async def service(
        self,
        name: str,
        serve: Callable[[Service[S]], Awaitable[None]],
        settings: S,
        *,
        faults: FaultPoints = NO_FAULTS,
        clock: Clock | None = None,
    ) -> AsyncGenerator[Running]:
        """A service in this process for as long as the block lasts; then it is stopped as SIGTERM would."""
        stop = Stop()
        async with connected_as(self.nats, name) as bus, asyncio.TaskGroup() as group:
            health = Health(stop)
            service = Service(
                name, new_owner(settings.instance), stop, clock or SystemClock(), bus, settings, health, faults
            )

            async def body() -> None:
                await serve(service)

            group.create_task(body())
            try:
                yield Running(stop, health, bus)
            finally:
                stop.request()


@asynccontextmanager
async def connected_as(nats: NatsServer, identity: str) -> AsyncGenerator[Bus]:
    """A connection with the rights of one identity."""
    bus = await connect_bus(_Address(nats.url, nats.seeds.get(identity)), identity)
    try:
        yield bus
    finally:
        await bus.close()


@asynccontextmanager
async def task_bench(db: TestDatabase, nats: NatsServer) -> AsyncGenerator[TaskBench]:
    """A bench with fresh streams and a custodian that answers."""
    reads = DeploymentReads(db.database)

    async def verify(task_id: UUID, epoch: int) -> str | None:
        return await reads.custody_workspace(task_id, epoch, CUSTODIAN)

    custodian = Custodian(CUSTODIAN, clock=SystemClock(), verify=verify)
    async with connected_as(nats, "admin") as admin, connected_as(nats, "api") as api, custodian.serving(api):
        await fresh_commands(admin)
        yield TaskBench(db, nats, admin, custodian)


async def fresh_commands(bus: Bus) -> None:
    """The command stream, empty, with every declared consumer."""
    jetstream = bus.jetstream
    with suppress(NotFoundError):
        await jetstream.delete_stream(subjects.COMMANDS_STREAM)
    await jetstream.add_stream(  # pyright: ignore[reportUnknownMemberType]  # one of its parameters
        StreamConfig(name=subjects.COMMANDS_STREAM, subjects=[subjects.COMMANDS], retention=RetentionPolicy.WORK_QUEUE)
    )
    for each in subjects.CONSUMERS:
        await jetstream.add_consumer(  # pyright: ignore[reportUnknownMemberType]  # one of its parameters
            each.stream,
            ConsumerConfig(
                durable_name=each.name,
                filter_subject=each.filter_subject,
                ack_policy=AckPolicy.EXPLICIT,
                ack_wait=each.ack_wait_seconds,
                max_ack_pending=each.max_ack_pending,
            ),
        )


def config_maps(count: int) -> str:
    """Manifests of ConfigMaps c0, c1, …: applied in that order, ready at once."""
    names = [f"c{number}" for number in range(count)]
    return "".join(f"---\napiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}}}\n" for name in names)


def deployment(name: str, *, image: str = "registry.example/web:1", behaviour: str = "") -> str:
    """The manifest of a Deployment with one replica, whose containers behave as the sandbox is told."""
    return f"""---
apiVersion: apps/v1
kind: Deployment
metadata: {{name: {name}}}
spec:
  selector: {{matchLabels: {{app: {name}}}}}
  template:
    metadata:
      labels: {{app: {name}}}
      annotations: {{sandbox.locktender.dev/behaviour: "{behaviour}"}}
    spec:
      containers: [{{name: main, image: "{image}"}}]
"""
