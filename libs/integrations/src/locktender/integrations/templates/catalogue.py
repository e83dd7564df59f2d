"""Catalogues of templates: a folder, a Git repository, or none."""

import asyncio
from pathlib import Path

from locktender.contracts.kernel.clock import Clock
from locktender.contracts.kernel.errors import Unavailable
from locktender.integrations.machine.threads import in_thread
from locktender.integrations.templates.catalogue_settings import CatalogueSettings
from locktender.integrations.templates.faults import TemplateFault
from locktender.integrations.templates.git_catalogue import GitCatalogue
from locktender.integrations.templates.shelf import Catalogue, EmptyCatalogue, Entry, OneShelf, Shelf
from locktender.integrations.templates.shelving import Known, shelved

__all__ = [
    "Catalogue",
    "CatalogueSettings",
    "EmptyCatalogue",
    "Entry",
    "FolderCatalogue",
    "GitCatalogue",
    "Shelf",
    "catalogue_of",
]


def catalogue_of(settings: CatalogueSettings, clock: Clock) -> Catalogue:
    """The catalogue that is configured. A `GitCatalogue` has to be kept fresh by `keep_fresh`."""
    if settings.git_url is not None:
        return GitCatalogue(settings, clock)
    if settings.folder is not None:
        return FolderCatalogue(settings.folder, max_bytes=settings.max_bytes)
    return EmptyCatalogue()


class FolderCatalogue(OneShelf):
    """The templates straight inside of one folder, each a folder or a YAML file.

    A changed file is seen by the next call. Only what changed is read again.
    """

    def __init__(self, folder: Path, *, max_bytes: int = 64 * 1_048_576) -> None:
        self._folder = folder
        self._max_bytes = max_bytes
        self._known: Known = {}
        self._reading = asyncio.Lock()

    async def shelf(self) -> Shelf:
        """What is in the folder now.

        Raises:
            Unavailable: the folder cannot be read, or has more in it than it may.
        """
        async with self._reading:
            before = self._known
            try:
                self._known = await in_thread(lambda: shelved(self._folder, self._max_bytes, before))
            except OSError as error:
                raise Unavailable(f"the folder of templates cannot be read ({error.strerror})") from None
            except TemplateFault as fault:
                raise Unavailable(str(fault)) from None
            return Shelf({name: found for name, (_, found) in self._known.items()})
