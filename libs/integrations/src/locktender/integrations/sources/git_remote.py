"""git on one remote: what opens it, how long and how large it may be, and what its failures mean."""

import asyncio
import re
from collections.abc import AsyncGenerator, Collection
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Final

from locktender.integrations.machine.folder import private_folder
from locktender.integrations.sources.address import SCHEMES
from locktender.integrations.sources.credentials import Credentials, access
from locktender.integrations.sources.errors import SourceRefused, SourceUnavailable
from locktender.integrations.sources.git_program import Failure, Git, GitFailed
from locktender.integrations.sources.reach import Reach

_MEGABYTE = 1_048_576
_READING = ("log", "ls-tree")
"""Commands that neither reach outside nor write: repeating them changes nothing."""
_DENIED = re.compile(
    "authentication failed|could not read (username|password)|repository .*not found|permission denied"
    "|returned error: 40[134]|host key verification failed|access denied",
    re.IGNORECASE,
)
_ELSEWHERE = re.compile("returned error: 30[1278]|following redirects|unable to update url base", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class GitLimits:
    """Bounds of one call.

    Attributes:
        seconds: how long it may take altogether.
        most_bytes: bytes of the pack, and of all files of the commit together, at most.
        most_files: files of the commit, at most.
        schemes: the kinds of address that are taken.
        reach: the hosts that are talked to.
    """

    seconds: float = 120.0
    most_bytes: int = 512 * _MEGABYTE
    most_files: int = 50_000
    schemes: Collection[str] = SCHEMES
    reach: Reach = Reach()  # noqa: RUF009 - it is frozen


NORMAL: Final = GitLimits()


@asynccontextmanager
async def remote(
    url: str, scheme: str, credentials: Credentials | None, limits: GitLimits
) -> AsyncGenerator[Git, None]:
    """What runs git for a checked address, with a private home. Failures are those of a source.

    No redirect is followed, and no alternate of a server: either would lead to a host that nobody has looked at, and
    take a token there.
    """
    async with _translated(limits), private_folder({}) as home:
        given = access(url, scheme, credentials, home)
        towards = await limits.reach.settings_for(url, scheme)
        hidden = (url, url.removeprefix("file://"), *given.secrets)
        yield Git(
            home,
            (scheme,),
            limits.seconds,
            limits.most_bytes,
            hidden,
            configuration={**given.configuration, **towards, "http.followRedirects": "false"},
            ssh=given.ssh,
        )


@asynccontextmanager
async def _translated(limits: GitLimits) -> AsyncGenerator[None, None]:
    """One deadline around all commands, and their failures as those of a source."""
    late = f"the repository did not answer within {limits.seconds:g} seconds"
    try:
        async with asyncio.timeout(limits.seconds):
            yield
    except TimeoutError:
        raise SourceUnavailable(late) from None
    except OSError as error:
        raise SourceUnavailable(f"the files cannot be written ({error.strerror})") from error
    except GitFailed as failed:
        raise SourceUnavailable(late) if failed.failure is Failure.LATE else _as_source(failed) from None


def _as_source(failed: GitFailed) -> SourceUnavailable | SourceRefused:
    match failed.failure:
        case Failure.MISSING:
            return SourceUnavailable("git is needed for a repository, and it is not here; install it")
        case Failure.UNSTARTABLE | Failure.LATE:
            return SourceUnavailable(f"git cannot be started ({failed.said})")
        case Failure.TOO_MUCH:
            return SourceRefused("the repository has more files than can be listed")
        case Failure.REFUSED:
            return _refused(failed.verb, failed.said)


def _refused(verb: str, said: str) -> SourceUnavailable | SourceRefused:
    if verb in _READING:
        return SourceRefused(f"git {verb} failed: {said}")
    if _ELSEWHERE.search(said):
        return SourceRefused(
            "the repository is at another address by now; name that one (some servers want .git there)"
        )
    if _DENIED.search(said):
        return SourceRefused(f"there is no such repository, or these credentials do not open it: {said}")
    return SourceUnavailable(f"git {verb} failed: {said or 'the repository may be larger than is allowed'}")
