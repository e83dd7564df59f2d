"""One commit of a Git repository, fetched into a private folder: bounded in time and size, with nothing run from it."""

import re
import shutil
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from locktender.contracts.kernel.errors import Unavailable
from locktender.integrations.machine.folder import private_folder
from locktender.integrations.sources.git_program import Failure, Git, GitFailed
from locktender.integrations.templates.catalogue_settings import CatalogueSettings

_COMMIT = re.compile("[0-9a-f]{40}|[0-9a-f]{64}")
_MOST_LISTED = 20_000
_SCHEMES = ("https", "file")


@dataclass(frozen=True, slots=True)
class Fetched:
    """A commit, and the folder with its files. The folder is gone when the checkout is left.

    Attributes:
        announced: what the remote said of the ref before it was fetched. While it says the same, there is no news.
    """

    revision: str
    announced: str
    folder: Path


class Unchanged(Exception):
    """The repository announces what is known already."""


@asynccontextmanager
async def checkout(settings: CatalogueSettings, known: str | None) -> AsyncGenerator[Fetched, None]:
    """The files of the configured ref and subfolder, as long as the context lasts. Its body has no deadline from here.

    Raises:
        Unchanged: the remote announces what is `known`.
        Unavailable: it cannot be fetched in time, is too large, or there is no git; told without the URL.
    """
    if shutil.which("git") is None:
        raise _unavailable(GitFailed(Failure.MISSING, ""))
    async with private_folder({}) as folder:
        fetching = _Fetching(folder, settings)
        try:
            announced = await fetching.announced()
            if announced == known:
                raise Unchanged
            revision = await fetching.fetched()
            await fetching.check_size()
            files = await fetching.checked_out()
        except GitFailed as failed:
            raise _unavailable(failed) from None
        yield Fetched(revision, announced, files)


class _Fetching:
    """The commands on one fresh repository, within one budget of seconds for each."""

    def __init__(self, folder: Path, settings: CatalogueSettings) -> None:
        self._folder = folder
        self._within = folder / "repository"
        self._settings = settings
        self._url = settings.git_url or ""
        hidden = (self._url, self._url.removeprefix("file://"))
        self._git = Git(folder, _SCHEMES, settings.clone_seconds, settings.max_bytes, hidden)

    async def announced(self) -> str:
        """What the remote says of the ref, without fetching anything. A commit id stands for itself."""
        settings = self._settings
        if _COMMIT.fullmatch(settings.git_ref):
            return settings.git_ref
        out = await self._git.run(self._folder, "ls-remote", "--quiet", "--", self._url, settings.git_ref)
        if not out.strip():
            raise Unavailable("the repository has no such branch or tag (git_ref)")
        return out.decode("ascii", "replace")

    async def fetched(self) -> str:
        """The commit of the ref, whose files are then here."""
        await self._git.run(self._folder, "init", "--quiet", "--template=", "repository")
        where = ("--no-tags", "--no-recurse-submodules", "--no-write-fetch-head", "--quiet")
        target = f"+{self._settings.git_ref}:refs/locktender/wanted"
        await self._git.run(self._within, "fetch", "--depth=1", *where, "--", self._url, target)
        out = await self._git.run(self._within, "rev-parse", "--verify", "refs/locktender/wanted^{commit}")
        return out.decode("ascii", "replace").strip()

    async def check_size(self) -> None:
        """Ask for the sizes before anything is written out: a small pack may hold very large files."""
        files, size = await self._git.written_out(self._within, "refs/locktender/wanted", self._path())
        if not files:
            raise Unavailable("the repository has no such folder, or nothing is in it (git_subfolder)")
        if files > _MOST_LISTED or size > self._settings.max_bytes:
            raise Unavailable("the repository has more files or bytes than the setting max_bytes allows")

    async def checked_out(self) -> Path:
        """The folder of the templates, with its files."""
        await self._git.run(
            self._within, "checkout", "--quiet", "--force", "refs/locktender/wanted", "--", self._path()
        )
        folder = self._within
        for part in self._settings.git_subfolder.split("/") if self._settings.git_subfolder else ():
            folder /= part
            if folder.is_symlink() or not folder.is_dir():
                raise Unavailable("git_subfolder is no plain folder of the repository")
        return folder

    def _path(self) -> str:
        return self._settings.git_subfolder or "."


def _unavailable(failed: GitFailed) -> Unavailable:
    match failed.failure:
        case Failure.MISSING:
            return Unavailable("git is needed for a catalogue from a repository, and it is not here; install it")
        case Failure.UNSTARTABLE:
            return Unavailable(f"git cannot be started ({failed.said})")
        case Failure.LATE:
            return Unavailable("the repository did not answer in time (clone_seconds)")
        case Failure.TOO_MUCH:
            return Unavailable("the repository has more files than can be listed")
        case Failure.REFUSED:
            said = failed.said or "the repository may be larger than the setting max_bytes allows"
            return Unavailable(f"git {failed.verb} failed: {said}")
