"""The source of a run: an exact commit, or an archive whose digest is known."""

import asyncio
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import assert_never

from pydantic import SecretStr

from locktender.contracts.kernel.errors import LocktenderError
from locktender.contracts.stacks.wire import (
    SOURCE_ARCHIVE,
    ArchiveCheckout,
    GitCheckout,
    LeaseGone,
    RunContext,
    RunPort,
    RunSecrets,
)
from locktender.integrations.sources.address import SCHEMES
from locktender.integrations.sources.archive_limits import ArchiveLimits
from locktender.integrations.sources.credentials import Token
from locktender.integrations.sources.errors import SourceUnavailable
from locktender.integrations.sources.extracting import extract
from locktender.integrations.sources.git import check_out
from locktender.integrations.sources.git_remote import GitLimits
from locktender.integrations.sources.reach import EVERY_HOST, Reach


@dataclass(frozen=True, slots=True)
class SourceTerms:
    """Which sources a runner takes, and how large they may be.

    Attributes:
        schemes: kinds of address of a repository; `file` and `http` are for a machine of one's own.
        hosts: patterns of the hosts of repositories, see `Reach`.
        git_seconds: for one checkout.
        archive: bounds of an archive.
    """

    schemes: Collection[str] = SCHEMES
    hosts: Collection[str] = EVERY_HOST
    git_seconds: float = 300.0
    archive: ArchiveLimits = ArchiveLimits()  # noqa: RUF009 - it is frozen


@dataclass(slots=True)
class CheckedOut:
    """Puts the source of the run of `port` into an empty directory; a `CheckOut` of the execution.

    Attributes:
        fault: an error that nobody foresaw. Nothing of the run had started by then, so the run has failed plainly.
    """

    port: RunPort
    terms: SourceTerms
    fault: Exception | None = None

    async def __call__(self, context: RunContext, secrets: RunSecrets, directory: Path) -> None:
        """See `CheckOut`.

        Raises:
            LocktenderError: the source cannot be had; the message is for people.
            LeaseGone: the run is not ours any more.
        """
        try:
            await self._put(context, secrets, directory)
        except (LocktenderError, LeaseGone):
            raise
        except Exception as error:
            self.fault = error
            raise SourceUnavailable("the source could not be checked out; the runner's log says why") from error

    async def _put(self, context: RunContext, secrets: RunSecrets, directory: Path) -> None:
        match context.checkout:
            case GitCheckout(url=url, commit=commit, ref=ref):
                reach = Reach(self.terms.hosts)
                limits = GitLimits(seconds=self.terms.git_seconds, schemes=self.terms.schemes, reach=reach)
                await check_out(url, commit, directory, _token(secrets.git_token), ref=ref, limits=limits)
            case ArchiveCheckout(sha256=sha256):
                packed = await self.port.get_artifact(SOURCE_ARCHIVE)
                # The archive appears with all its files at once, so it takes the place of the empty directory.
                await asyncio.to_thread(directory.rmdir)
                await extract(packed, sha256, directory, self.terms.archive)
            case _:
                assert_never(context.checkout)


def _token(secret: SecretStr | None) -> Token | None:
    return None if secret is None else Token(secret.get_secret_value())
