"""Templates in a Git repository: read whole into memory, one commit at a time, and kept when the remote is away."""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from functools import partial

from locktender.contracts.kernel.clock import Clock
from locktender.contracts.kernel.errors import Unavailable
from locktender.integrations.machine.threads import in_thread
from locktender.integrations.templates.catalogue_settings import CatalogueSettings
from locktender.integrations.templates.faults import TemplateFault
from locktender.integrations.templates.git_checkout import Unchanged, checkout
from locktender.integrations.templates.shelf import OneShelf, Shelf
from locktender.integrations.templates.shelving import Known, shelved

_PATIENCE_SECONDS = 10.0


class GitCatalogue(OneShelf):
    """The templates of one ref of a repository.

    It serves whole commits: what one call sees is of one commit. The first call fetches; after that, only
    `keep_fresh` does. While the remote is away, the last good commit is served, with `Shelf.stale_since`. Nothing is
    kept on disk, so that a process that starts while the remote is away has nothing to serve.
    """

    def __init__(self, settings: CatalogueSettings, clock: Clock) -> None:
        self._settings = settings
        self._clock = clock
        self._shelf: Shelf | None = None
        self._announced: str | None = None
        self._fetching = asyncio.Lock()
        self._failed_at: float | None = None
        self._failure = ""

    async def shelf(self) -> Shelf:
        """The last good commit.

        Raises:
            Unavailable: there never was one. After a failure, none is tried again for some seconds.
        """
        if self._shelf is None:
            async with self._fetching:
                if self._shelf is None:
                    self._check_patience()
                    await self._refresh()
        if self._shelf is None:
            raise Unavailable(self._failure)
        return self._shelf

    async def refresh(self) -> None:
        """Ask the repository for news now. A failure is not raised, but is in `Shelf.stale_since` afterwards."""
        async with self._fetching:
            await self._refresh()

    async def keep_fresh(self, failed: Callable[[str], None] | None = None) -> None:
        """Refresh at each interval of the settings, until cancelled. `failed` is told why, each time it did not go."""
        while True:
            await self.refresh()
            if failed is not None and self._failed_at is not None:
                failed(self._failure)
            await self._clock.sleep(self._settings.refresh_seconds)

    def _check_patience(self) -> None:
        if self._failed_at is not None and self._clock.monotonic() - self._failed_at < _PATIENCE_SECONDS:
            raise Unavailable(self._failure)

    async def _refresh(self) -> None:
        try:
            async with checkout(self._settings, self._announced) as fetched:
                work: Callable[[], Known] = partial(shelved, fetched.folder, self._settings.max_bytes, {})
                found = await in_thread(work)
                packages = {name: package for name, (_, package) in found.items()}
                self._shelf, self._announced = Shelf(packages, fetched.revision), fetched.announced
        except Unchanged:
            if self._shelf is not None:
                self._shelf = replace(self._shelf, stale_since=None)
        except (Unavailable, TemplateFault, OSError) as error:
            self._failed(str(error) if not isinstance(error, OSError) else f"it cannot be read ({error.strerror})")
            return
        self._failed_at, self._failure = None, ""

    def _failed(self, why: str) -> None:
        self._failed_at = self._clock.monotonic()
        self._failure = f"the repository of templates cannot be used: {why}"
        if self._shelf is not None and self._shelf.stale_since is None:
            self._shelf = replace(self._shelf, stale_since=self._clock.now())
