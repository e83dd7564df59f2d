"""The templates that can be deployed by name: listed, searched, and taken as they were read."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol

from locktender.integrations.templates.faults import TemplateFault
from locktender.integrations.templates.package import Package, PackageForm, categories


@dataclass(frozen=True, slots=True)
class Entry:
    """One template of a catalogue.

    Attributes:
        name: what it is deployed by: the name of its folder, or of its file without the ending.
        form: None where it cannot be told.
        digest: of its files, as in `Package.digest`; empty for a broken one.
        revision: the commit that it was read from, for a Git repository.
        fault: what is wrong with it. Such a one is listed, and cannot be taken.
    """

    name: str
    form: PackageForm | None
    title: str
    description: str = ""
    categories: tuple[str, ...] = ()
    digest: str = ""
    revision: str | None = None
    fault: str | None = None


@dataclass(frozen=True, slots=True)
class Shelf:
    """All templates of a catalogue at one moment. It never changes.

    Attributes:
        packages: what each name stands for: a package, or what is wrong with it.
        revision: the commit, for a Git repository.
        stale_since: when the repository could not be asked for the first time since this was read.
    """

    packages: Mapping[str, Package | TemplateFault] = field(repr=False)
    revision: str | None = None
    stale_since: datetime | None = None

    def entries(self) -> tuple[Entry, ...]:
        """Every template, by name."""
        return tuple(_entry(name, self.packages[name], self.revision) for name in sorted(self.packages))

    def matching(self, text: str) -> tuple[Entry, ...]:
        """The ones in which every word of `text` occurs; by name, those that are called so first."""
        words = text.casefold().split()
        found = [entry for entry in self.entries() if all(word in _said(entry) for word in words)]
        return tuple(sorted(found, key=lambda entry: not all(word in entry.name.casefold() for word in words)))

    def taken(self, name: str) -> Package:
        """One package.

        Raises:
            TemplateFault: `unknown-template`, or what is wrong with it.
        """
        found = self.packages.get(name)
        if found is None:
            raise TemplateFault(
                "unknown-template", "there is no such template in the catalogue; list them to see which"
            )
        if isinstance(found, TemplateFault):
            # A new one each time: an exception that is raised again gathers traces.
            raise TemplateFault(found.code, found.problem, found.line)
        return found


class Catalogue(Protocol):
    """Templates by name.

    Each method may read the outside first, within the bounds of the settings.

    Raises:
        Unavailable: there is nothing to serve: the folder is gone, or the repository was never reached.
    """

    async def shelf(self) -> Shelf:
        """All of it at one moment, with where it stands."""
        ...

    async def list(self) -> tuple[Entry, ...]:
        """Every template, by name. Broken ones are among them, with their fault."""
        ...

    async def search(self, text: str) -> tuple[Entry, ...]:
        """The templates whose name, title, description and categories hold every word of `text`, whatever its case."""
        ...

    async def get(self, name: str) -> Package:
        """One template.

        Raises:
            TemplateFault: `unknown-template`, or what is wrong with it.
        """
        ...


class OneShelf(ABC):
    """The part of a catalogue that is the same wherever the templates come from."""

    @abstractmethod
    async def shelf(self) -> Shelf:
        """All of it at one moment."""

    async def list(self) -> tuple[Entry, ...]:
        """Every template, by name."""
        return (await self.shelf()).entries()

    async def search(self, text: str) -> tuple[Entry, ...]:
        """The templates that hold every word of `text`."""
        return (await self.shelf()).matching(text)

    async def get(self, name: str) -> Package:
        """One template."""
        return (await self.shelf()).taken(name)


class EmptyCatalogue(OneShelf):
    """A catalogue where none is configured."""

    async def shelf(self) -> Shelf:
        """Nothing."""
        return Shelf({})


def _entry(name: str, found: Package | TemplateFault, revision: str | None) -> Entry:
    if isinstance(found, TemplateFault):
        return Entry(name=name, form=None, title=name, revision=revision, fault=str(found))
    return Entry(
        name=name,
        form=found.form,
        title=found.title or name,
        description=found.description,
        categories=categories(found),
        digest=found.digest,
        revision=revision,
    )


def _said(entry: Entry) -> str:
    return _joined((entry.name, entry.title, entry.description, *entry.categories))


def _joined(texts: Iterable[str]) -> str:
    return "\n".join(texts).casefold()
