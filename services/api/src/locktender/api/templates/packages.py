"""Packages by where they come from: the catalogue, a text in a request, or the stored source of a task."""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeVar

from locktender.integrations.machine.threads import in_thread
from locktender.integrations.templates.catalogue import Catalogue, Shelf
from locktender.integrations.templates.package import Package, read_package

T = TypeVar("T")

_LARGE = 16 * 1024
_INLINE = "template.yaml"


@dataclass(frozen=True, slots=True)
class Found:
    """A package, and where it is from. `name` is None for what is in no catalogue."""

    package: Package
    name: str | None
    revision: str | None


class Packages:
    """Finds packages. Large ones are read in a thread, two at a time, so that others are answered meanwhile."""

    def __init__(self, catalogue: Catalogue) -> None:
        self._catalogue = catalogue
        self._threads = asyncio.Semaphore(2)

    async def shelf(self) -> Shelf:
        """The whole catalogue at one moment.

        Raises:
            Unavailable: it cannot be read.
        """
        return await self._catalogue.shelf()

    async def named(self, name: str) -> Found:
        """A template of the catalogue. Names are only looked up, never used as paths.

        Raises:
            TemplateFault: there is none, or it is broken.
            Unavailable: the catalogue cannot be read.
        """
        shelf = await self._catalogue.shelf()
        return Found(shelf.taken(name), name, shelf.revision)

    async def inline(self, text: str) -> Found:
        """A template that was sent as text.

        Raises:
            TemplateFault: it is none.
        """
        return Found(await self.read({_INLINE: text}), None, None)

    async def read(self, files: Mapping[str, str], name: str | None = None) -> Package:
        """The package that these files are.

        Raises:
            TemplateFault: they are none.
        """
        return await self.worked(files, lambda: read_package(files, name=name))

    async def worked(self, files: Mapping[str, str], work: Callable[[], T]) -> T:
        """What `work` gives: pure work that takes the longer, the larger the files are."""
        if sum(map(len, files.values())) <= _LARGE:
            return work()
        async with self._threads:
            return await in_thread(work)
