"""Deployments that are made once an idempotency key, however often they are asked for."""

import json
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Protocol

from locktender.api.http.idempotency import NO_DIGEST, Digests
from locktender.api.stacks.deciding.admission import Admitted
from locktender.api.stacks.deciding.conflicts import Snapshots, with_snapshot
from locktender.contracts.kernel.errors import Conflict, NotFound, Unavailable
from locktender.contracts.kernel.problems import Problem
from locktender.contracts.stacks.views import DeploymentView
from locktender.runtime.bus import Bus
from locktender.storage.kernel.database import OutcomeUnknown, Row, Transaction


@dataclass(frozen=True, slots=True)
class StackOrder:
    """Who asks for a deployment of which stack, and how. `trace` holds the headers of the trace it belongs to."""

    on: Admitted
    key: str | None
    trace: dict[str, str]


@dataclass(frozen=True, slots=True)
class Made:
    """The deployment as it is, and whether this request made it."""

    view: DeploymentView
    fresh: bool


class KnownRequest(Protocol):
    """What a key has made before."""

    @property
    def stack(self) -> str:
        """The name of its stack, which may stand for another one by now."""
        ...

    @property
    def number(self) -> int:
        """Of the deployment."""
        ...

    @property
    def digest(self) -> bytes:
        """Of the request that made it."""
        ...


class MadeRequests(Protocol):
    """The record of idempotency keys, which is on the deployments themselves."""

    async def known(self, workspace: str, by: str, key: str) -> KnownRequest | None:
        """What the key of this person has made."""
        ...

    async def make(self, work: Callable[[Transaction], Awaitable[Row]]) -> Row:
        """Run the transaction that makes a deployment; its row.

        Raises:
            Conflict: the key was used before. Nothing was made.
        """
        ...


class Repeats:
    """Makes deployments, or finds what the same request made before."""

    def __init__(self, *, requests: MadeRequests, digests: Digests, snapshots: Snapshots, bus: Bus) -> None:
        self._requests = requests
        self._digests = digests
        self._snapshots = snapshots
        self._bus = bus

    def digest(self, order: StackOrder, kind: str, request: object, secret: bytes = b"") -> bytes:
        """The digest of a request. `request` is JSON without anything secret."""
        if order.key is None:
            return NO_DIGEST
        return self._digests.make(json.dumps([kind, str(order.on.stack_id), request]).encode(), secret)

    async def known(self, order: StackOrder, digest: bytes) -> Made | None:
        """What the same request made before. None: its key is new, or it has none.

        Raises:
            ProblemError: another request made something with this key; its snapshot comes along.
            NotFound: what it made is gone.
        """
        if order.key is None:
            return None
        found = await self._requests.known(order.on.workspace, order.on.by.name, order.key)
        if found is None:
            return None
        if self._digests.same(found.digest, digest):
            return Made(await self._snapshots(order.on.workspace, found.stack, found.number), fresh=False)
        current = None
        with suppress(NotFound):
            current = await self._snapshots(order.on.workspace, found.stack, found.number)
        detail = "this Idempotency-Key made another deployment; use a new key for a new request"
        raise with_snapshot(Problem.IDEMPOTENCY_MISMATCH, detail, current)

    async def make(self, order: StackOrder, digest: bytes, work: Callable[[Transaction], Awaitable[Row]]) -> Made:
        """Make it; where the same request was faster, find what that made.

        Raises:
            ProblemError: as `known`.
            Unavailable: the outcome is not known. With an idempotency key, asking again is always safe.
        """
        try:
            row = await self._requests.make(work)
        except Conflict:
            made = await self.known(order, digest)
            if made is None:
                raise Unavailable("the deployment of this idempotency key was removed a moment ago") from None
            return made
        except OutcomeUnknown:
            made = await self.known(order, digest)
            if made is None:
                detail = "the database went away; whether the deployment was made will show in the list"
                raise Unavailable(detail) from None
            self._bus.poke("outbox")
            return Made(made.view, fresh=True)
        self._bus.poke("outbox")
        return Made(await self._snapshots(order.on.workspace, order.on.stack, row["number"]), fresh=True)
