"""The machine of a remote runner: where runs work, and with which engine."""

import os
import shutil
from dataclasses import dataclass
from pathlib import Path

import structlog

from locktender.cli.exits import CommandError, Exit
from locktender.contracts.kernel.clock import Clock
from locktender.integrations.runs.carrying import Carrier
from locktender.integrations.runs.checkout import SourceTerms
from locktender.integrations.runs.means import WorkRootUnusable, default_work_root, means_of
from locktender.integrations.sources.address import SCHEMES
from locktender.integrations.sources.reach import EVERY_HOST, THIS_MACHINE
from locktender.integrations.tofu.failures import ProcessesLeft
from locktender.integrations.tofu.workplace import sweep
from locktender.runtime.scrub import Scrubber, ScrubStream

_log = structlog.stdlib.get_logger(__name__)

_ENGINES = ("tofu", "terraform")


@dataclass(frozen=True, slots=True)
class Place:
    """What the person who starts a runner says about its machine.

    Attributes:
        work_dir: where runs work.
        plugin_cache: where they share providers.
        local: whether sources of this machine are checked out.
        hosts: patterns of the hosts of repositories, besides those.
    """

    work_dir: Path | None = None
    plugin_cache: Path | None = None
    local: bool = False
    hosts: frozenset[str] = EVERY_HOST

    async def ready(self, clock: Clock) -> Carrier:
        """What carries out runs here, after what earlier runners left was ended.

        Raises:
            CommandError: the machine has no engine, or runs cannot work there.
        """
        if not any(shutil.which(engine) for engine in _ENGINES):
            message = "neither tofu nor terraform is on the PATH"
            raise CommandError(Exit.FAILED, message, "Install OpenTofu: https://opentofu.org/docs/intro/install/")
        root = self.work_dir or default_work_root()
        try:
            means = means_of(
                root.absolute(), scrub=lambda values: ScrubStream(Scrubber(values)), clock=clock,
                environment=os.environ, plugin_cache=self.plugin_cache and self.plugin_cache.absolute(),
            )  # fmt: skip
        except (WorkRootUnusable, OSError) as error:
            raise CommandError(Exit.FAILED, str(error)) from error
        try:
            swept = await sweep(means.work_root)
        except ProcessesLeft as error:
            raise CommandError(Exit.FAILED, str(error)) from error
        if swept:
            _log.warning("an earlier runner left runs; they were ended", runs=swept)
        return Carrier(means, self._terms())

    def _terms(self) -> SourceTerms:
        if self.local:
            return SourceTerms({*SCHEMES, "file", "http"}, self.hosts | THIS_MACHINE)
        return SourceTerms(SCHEMES, self.hosts)
