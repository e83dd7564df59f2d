"""The leases that a process holds, as the keeper sees them. Pure bookkeeping, safe to use from any thread."""

import asyncio
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from uuid import UUID

import structlog

from locktender.contracts.kernel.lease import Epoch, Lease
from locktender.runtime.abort import Abort, AbortReason

_log = structlog.stdlib.get_logger(__name__)

FENCE_AT = 0.7
"""Fraction of its time to live at which an unanswered lease is given up: well before anybody else may take it."""

Key = tuple[UUID, Epoch]


@dataclass(frozen=True, slots=True)
class RenewalAnswer:
    """What the database said about one lease."""

    row_id: UUID
    epoch: Epoch
    held: bool
    cancel_requested: bool


@dataclass(slots=True)
class _Held:
    lease: Lease
    abort: Abort
    loop: asyncio.AbstractEventLoop
    renewed_at: float
    """Start of the last call that renewed it, so that the row's own deadline is never earlier than we think."""
    cancel_told: bool = False
    lost: bool = False


class Renewals:
    """Every lease with its abort signal, and when it was renewed last."""

    def __init__(self, ttl: float, on_fence: Callable[[Lease], None] | None = None) -> None:
        self._fence_after = ttl * FENCE_AT
        self._on_fence = on_fence
        self._held: dict[Key, _Held] = {}
        self._lock = threading.Lock()

    def add(self, lease: Lease, abort: Abort, since: float) -> None:
        """Keep `lease`; `since` is when its claim was sent. Call it from the loop that `abort` belongs to."""
        held = _Held(lease, abort, asyncio.get_running_loop(), since)
        with self._lock:
            self._held[lease.row_id, lease.epoch] = held

    def remove(self, lease: Lease) -> None:
        """Forget `lease`."""
        with self._lock:
            self._held.pop((lease.row_id, lease.epoch), None)

    def due(self) -> list[Lease]:
        """The leases to renew: a lost one is not among them, so that a run which lingers cannot keep its row."""
        with self._lock:
            return [held.lease for held in self._held.values() if not held.lost]

    @property
    def empty(self) -> bool:
        """Whether no lease is kept, not even a lost one whose run still ends."""
        with self._lock:
            return not self._held

    def next_fence(self) -> float | None:
        """When, without another answer, the first lease is given up."""
        with self._lock:
            times = [held.renewed_at + self._fence_after for held in self._held.values() if not held.lost]
        return min(times, default=None)

    def answered(self, answers: Sequence[RenewalAnswer], asked_at: float) -> None:
        """Take in the answers to a call that began at `asked_at`. A lease without an answer stays as it is."""
        for answer in answers:
            with self._lock:
                held = self._held.get((answer.row_id, answer.epoch))
            if held is None or held.lost:
                continue
            if not answer.held:
                self._lose(held)
                continue
            held.renewed_at = max(held.renewed_at, asked_at)
            if answer.cancel_requested and not held.cancel_told:
                held.cancel_told = True
                _tell(held, AbortReason.CANCELLED)

    def fence(self, now: float) -> list[Lease]:
        """Give up every lease that went without an answer for too long, and say which."""
        with self._lock:
            late = [
                held for held in self._held.values() if not held.lost and now - held.renewed_at >= self._fence_after
            ]
        for held in late:
            self._lose(held)
        return [held.lease for held in late]

    def overdue(self, lease: Lease, now: float) -> bool:
        """Whether `lease` is lost, or went without an answer for too long, even if nobody has said so yet."""
        with self._lock:
            held = self._held.get((lease.row_id, lease.epoch))
        return held is not None and (held.lost or now - held.renewed_at >= self._fence_after)

    def fence_all(self) -> None:
        """Give up everything: nobody renews any more."""
        with self._lock:
            remaining = [held for held in self._held.values() if not held.lost]
        for held in remaining:
            self._lose(held)

    def _lose(self, held: _Held) -> None:
        held.lost = True
        # The hook first: it kills processes from this thread even if the run's own loop hangs.
        try:
            if self._on_fence is not None:
                self._on_fence(held.lease)
        except Exception:  # noqa: BLE001 - a hook that fails must not spare the run, nor end the keeper
            _log.exception("the fence hook failed", row=str(held.lease.row_id), epoch=held.lease.epoch)
        _tell(held, AbortReason.SUPERSEDED)


def _tell(held: _Held, reason: AbortReason) -> None:
    # A loop that is closed has no run to tell.
    with suppress(RuntimeError):
        held.loop.call_soon_threadsafe(held.abort.trip, reason)
