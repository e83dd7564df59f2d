"""What operators ask of the reaper: `nats req lt.ops.reaper.sweep ''`."""

from collections.abc import Mapping

from locktender.reaper.reaper import Reaper
from locktender.reaper.settings import ReaperSettings
from locktender.runtime.micro import OpsEndpoints


class Operations:
    """The operator endpoints of one replica."""

    def __init__(self, reaper: Reaper, settings: ReaperSettings) -> None:
        self._reaper = reaper
        self._settings = settings

    def offer(self, endpoints: OpsEndpoints) -> None:
        """Add them."""
        endpoints.add(
            "sweep", "lt.ops.reaper.sweep", self.sweep, "Run one pass now",
            response='{"moved": {sweep: rows}, "failed": {sweep: reason}, "more": bool, "held": bool}',
        )  # fmt: skip
        endpoints.add(
            "status", "lt.ops.reaper.status", self.status, "What this replica has done since it started",
            response='{"moved": {sweep: rows}, "idleSeconds": age, "sweepSeconds": pause, "deadlines": {...}}',
        )  # fmt: skip

    async def sweep(self, _body: bytes) -> Mapping[str, object]:
        """One pass, answered when it is over.

        Raises:
            Unavailable: the database is away.
        """
        done = await self._reaper.sweep()
        return {"moved": done.moved, "failed": done.failed, "more": done.more, "held": done.held}

    async def status(self, _body: bytes) -> Mapping[str, object]:
        """The totals of this process."""
        return {
            "moved": self._reaper.totals,
            "idleSeconds": self._reaper.idle_seconds(),
            "sweepSeconds": self._settings.reaper_sweep_seconds,
            "deadlines": self._settings.deadlines.model_dump(),
        }
