"""One commit of a Git repository, fetched into a private folder: bounded in time and size, with nothing run from it."""

import os
import re
import shutil
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from locktender.contracts.kernel.errors import Unavailable
from locktender.integrations.templates.catalogue_settings import CatalogueSettings
from locktender.integrations.templates.folder import private_folder
from locktender.integrations.templates.tools import Ran, TooMuchOutput, run

_COMMIT = re.compile("[0-9a-f]{40}|[0-9a-f]{64}")
_MOST_LISTED = 20_000
_MOST_OUTPUT = 8 * 1_048_576
_OPTIONS = (
    *("-c", "core.hooksPath=/dev/null"),
    *("-c", "core.fsmonitor=false"),
    *("-c", "protocol.allow=never"),
    *("-c", "protocol.https.allow=always"),
    *("-c", "protocol.file.allow=always"),
    *("-c", "protocol.ext.allow=never"),
    *("-c", "credential.helper="),
    *("-c", "gc.auto=0"),
    *("-c", "maintenance.auto=false"),
    *("-c", "submodule.recurse=false"),
    *("-c", "advice.detachedHead=false"),
)
# How this machine reaches the network is its administrator's to say; nothing else of the environment is passed on.
_PASSED_ON = ("HTTPS_PROXY", "https_proxy", "NO_PROXY", "no_proxy", "SSL_CERT_FILE", "SSL_CERT_DIR", "GIT_SSL_CAINFO")


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
    program = shutil.which("git")
    if program is None:
        raise Unavailable("git is needed for a catalogue from a repository, and it is not here; install it")
    async with private_folder({}) as folder:
        git = _Git(program, folder, settings)
        announced = await git.announced()
        if announced == known:
            raise Unchanged
        revision = await git.fetched()
        await git.check_size()
        yield Fetched(revision, announced, await git.checked_out())


class _Git:
    """The commands on one fresh repository, within one budget of seconds for each."""

    def __init__(self, program: str, folder: Path, settings: CatalogueSettings) -> None:
        self._program = program
        self._folder = folder
        self._settings = settings
        self._env = _environment(folder)

    async def announced(self) -> str:
        """What the remote says of the ref, without fetching anything. A commit id stands for itself."""
        settings = self._settings
        if _COMMIT.fullmatch(settings.git_ref):
            return settings.git_ref
        ran = await self._git("ls-remote", "--quiet", "--", settings.git_url or "", settings.git_ref)
        if not ran.out.strip():
            raise Unavailable("the repository has no such branch or tag (git_ref)")
        return ran.out.decode("ascii", "replace")

    async def fetched(self) -> str:
        """The commit of the ref, whose files are then here."""
        settings = self._settings
        await self._git("init", "--quiet", "--template=", "repository")
        where = ("--no-tags", "--no-recurse-submodules", "--no-write-fetch-head", "--quiet")
        target = f"+{settings.git_ref}:refs/locktender/wanted"
        await self._git("fetch", "--depth=1", *where, "--", settings.git_url or "", target, within=True)
        ran = await self._git("rev-parse", "--verify", "refs/locktender/wanted^{commit}", within=True)
        return ran.out.decode("ascii", "replace").strip()

    async def check_size(self) -> None:
        """Ask for the sizes before anything is written out: a small pack may hold very large files."""
        listed = await self._git("ls-tree", "-r", "-l", "-z", "refs/locktender/wanted", *self._paths(), within=True)
        entries = [entry for entry in listed.out.split(b"\0") if entry]
        if not entries:
            raise Unavailable("the repository has no such folder, or nothing is in it (git_subfolder)")
        total = sum(int(size) for entry in entries if (size := entry.split(b"\t")[0].split()[-1]).isdigit())
        if len(entries) > _MOST_LISTED or total > self._settings.max_bytes:
            raise Unavailable("the repository has more files or bytes than the setting max_bytes allows")

    async def checked_out(self) -> Path:
        """The folder of the templates, with its files."""
        await self._git("checkout", "--quiet", "--force", "refs/locktender/wanted", *self._paths(), within=True)
        folder = self._folder / "repository"
        for part in self._settings.git_subfolder.split("/") if self._settings.git_subfolder else ():
            folder /= part
            if folder.is_symlink() or not folder.is_dir():
                raise Unavailable("git_subfolder is no plain folder of the repository")
        return folder

    def _paths(self) -> tuple[str, ...]:
        return ("--", self._settings.git_subfolder or ".")

    async def _git(self, *arguments: str, within: bool = False) -> Ran:
        where = self._folder / "repository" if within else self._folder
        # A shell is there for its one built-in: a file that grows beyond this ends the program that writes it.
        blocks = self._settings.max_bytes // 512 + 1
        limited = ("/bin/sh", "-c", f'ulimit -f {blocks} && exec "$0" "$@"', self._program)
        try:
            ran = await run(
                (*limited, *_OPTIONS, *arguments),
                cwd=where,
                env=self._env,
                seconds=self._settings.clone_seconds,
                most_bytes=_MOST_OUTPUT,
            )
        except TimeoutError:
            raise Unavailable("the repository did not answer in time (clone_seconds)") from None
        except TooMuchOutput:
            raise Unavailable("the repository has more files than can be listed") from None
        except OSError as error:
            raise Unavailable(f"git cannot be started ({error.strerror})") from None
        if ran.code:
            raise Unavailable(f"git {arguments[0]} failed: {self._told(ran)}")
        return ran

    def _told(self, ran: Ran) -> str:
        told = ran.said
        url = self._settings.git_url or ""
        for where in (url, url.removeprefix("file://"), str(self._folder)):
            told = told.replace(where, "the repository")
        return told or "the repository may be larger than the setting max_bytes allows"


def _environment(folder: Path) -> Mapping[str, str]:
    return {
        "PATH": os.environ.get("PATH", os.defpath),
        "HOME": str(folder),
        "TMPDIR": str(folder),
        "LC_ALL": "C",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_ASKPASS": "true",
        "GIT_ALLOW_PROTOCOL": "https:file",
        "GIT_LITERAL_PATHSPECS": "1",
    } | {name: os.environ[name] for name in _PASSED_ON if name in os.environ}
