"""Holding credentials and submitted values in memory, and handing them to the one epoch that may have them."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from uuid import UUID

import structlog
from nats.aio.msg import Msg

from locktender.contracts.kernel import subjects
from locktender.contracts.kernel.clock import Clock
from locktender.contracts.kernel.errors import Finding, Pointer, Rejected, Unavailable
from locktender.runtime.bus import Bus
from locktender.runtime.custody_wire import HEADER, REFUSED, SEALED, CustodyRequest, Refusal, refusal_body, seal
from locktender.runtime.stop import Stop

_log = structlog.stdlib.get_logger(__name__)

Verify = Callable[[UUID, int], Awaitable[str | None]]
"""The workspace of a task, if exactly this instance is its custodian and exactly this epoch is the current one."""

REPEAT_SECONDS = 30.0
"""How long the same key of the same epoch may ask again, because a reply may be lost."""


@dataclass(frozen=True, slots=True)
class CustodyLimits:
    """Bounds of one custodian. `item_bytes` stays below what one NATS message takes (1 MiB by default)."""

    total_bytes: int = 128 * 1024 * 1024
    item_bytes: int = 900 * 1024
    concurrent_answers: int = 64
    sweep_seconds: float = 5.0


@dataclass(slots=True)
class _Item:
    secrets: bytearray
    expires_at: float
    epoch: int = 0
    key: bytes = b""
    answered_at: float = 0.0

    def forget(self) -> None:
        # As far as Python allows: this copy is overwritten. Copies that a library made on the way are not.
        self.secrets[:] = bytes(len(self.secrets))


class Custodian:
    """One API instance's memory of what must never be at rest.

    Guaranteed: nothing is written anywhere; what is held is bounded in size and time; an epoch gets one answer, sealed
    for the key that asked and bound to (workspace, task, epoch), and only after `verify` said that it is current.
    The same key may ask again within 30 s. Nothing survives a restart, and a task that loses its secrets says so.
    """

    def __init__(self, instance: str, *, clock: Clock, verify: Verify, limits: CustodyLimits | None = None) -> None:
        self._instance = instance
        self._clock = clock
        self._verify = verify
        self._limits = limits or CustodyLimits()
        self._items: dict[UUID, _Item] = {}
        self._held_bytes = 0

    @property
    def held_bytes(self) -> int:
        """How much is held at this moment."""
        return self._held_bytes

    def hold(self, task_id: UUID, secrets: bytes, ttl: float) -> None:
        """Keep `secrets` of a task for `ttl` seconds. It replaces what was held for the task, and may be asked afresh.

        Raises:
            Rejected: more than one message can carry.
            Unavailable: the memory set aside for custody is full.
        """
        if len(secrets) > self._limits.item_bytes:
            limit = self._limits.item_bytes // 1024
            raise Rejected([Finding(Pointer(""), f"credentials and secret values exceed {limit} KiB", "too-large")])
        self.sweep()
        replaced = self._items.get(task_id)
        growth = len(secrets) - (len(replaced.secrets) if replaced else 0)
        if self._held_bytes + growth > self._limits.total_bytes:
            raise Unavailable("too many deployments wait for their start; try again in a moment")
        self.drop(task_id)
        self._items[task_id] = _Item(bytearray(secrets), self._clock.monotonic() + ttl)
        self._held_bytes += len(secrets)

    def drop(self, task_id: UUID) -> None:
        """Forget what is held for a task; nothing, if nothing is."""
        item = self._items.pop(task_id, None)
        if item is not None:
            self._held_bytes -= len(item.secrets)
            item.forget()

    def sweep(self) -> None:
        """Forget everything whose time is over."""
        now = self._clock.monotonic()
        for task_id in [task_id for task_id, item in self._items.items() if item.expires_at <= now]:
            self.drop(task_id)

    async def serve(self, bus: Bus, stop: Stop) -> None:
        """Answer runners until `stop`."""
        async with self.serving(bus):
            await stop.wait()

    @asynccontextmanager
    async def serving(self, bus: Bus) -> AsyncGenerator[None]:
        """Answer runners while the context is open, then forget everything.

        Raises:
            Unavailable: the bus connection is closed.
        """
        room = asyncio.Semaphore(self._limits.concurrent_answers)
        async with asyncio.TaskGroup() as group:

            async def accept(message: Msg) -> None:
                await room.acquire()
                group.create_task(self._reply(bus, message)).add_done_callback(lambda _: room.release())

            subscription = await bus.subscribe(subjects.custody(self._instance), accept)
            sweeper = group.create_task(self._sweep_forever())
            try:
                yield
            finally:
                sweeper.cancel()
                await bus.unsubscribe(subscription)
                for task_id in tuple(self._items):
                    self.drop(task_id)

    async def answer(self, body: bytes) -> tuple[dict[str, str], bytes]:
        """Headers and body of the reply to one request."""
        try:
            answer = await self._decide(body)
        except Unavailable:
            answer = Refusal.UNAVAILABLE
        if isinstance(answer, Refusal):
            _log.warning("custody refused", code=answer.value)
            return {HEADER: REFUSED}, refusal_body(answer)
        return {HEADER: SEALED}, answer

    async def _decide(self, body: bytes) -> bytes | Refusal:
        request = CustodyRequest.decode(body)
        if request is None:
            return Refusal.MALFORMED
        self.sweep()
        if request.task_id not in self._items:
            return Refusal.UNKNOWN
        workspace = await self._verify(request.task_id, request.epoch)
        if workspace is None:
            return Refusal.NOT_HELD
        return self._sealed(request, workspace)

    def _sealed(self, request: CustodyRequest, workspace: str) -> bytes | Refusal:
        """The answer to a request that was verified. It awaits nothing, so two requests cannot both be the first."""
        item = self._items.get(request.task_id)
        if item is None:
            return Refusal.UNKNOWN
        if request.epoch < item.epoch:
            return Refusal.NOT_HELD
        now = self._clock.monotonic()
        repeated = request.epoch == item.epoch
        if repeated and (request.key != item.key or now - item.answered_at > REPEAT_SECONDS):
            return Refusal.ALREADY_ANSWERED
        try:
            answer = seal(item.secrets, request, workspace)
        except ValueError:
            # A key that no secret can be agreed with.
            return Refusal.MALFORMED
        if not repeated:
            item.epoch, item.key, item.answered_at = request.epoch, request.key, now
        return answer

    async def _reply(self, bus: Bus, message: Msg) -> None:
        if not message.reply:
            return
        try:
            headers, body = await self.answer(message.data)
            await bus.publish(message.reply, body, headers=headers)
        except Unavailable as error:
            _log.warning("custody could not answer", reason=str(error))
        except Exception:  # noqa: BLE001 - one bad request must not end the answers to all others
            _log.exception("custody failed to answer")

    async def _sweep_forever(self) -> None:
        while True:
            await self._clock.sleep(self._limits.sweep_seconds)
            self.sweep()
