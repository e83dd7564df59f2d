"""What exactly a deployment is of: a commit of a repository, or an uploaded archive. Found out before it is made."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, assert_never

import structlog
from pydantic import TypeAdapter

from locktender.api.http.problems import ProblemError
from locktender.api.stacks.deploying.archives import SourceArchives
from locktender.contracts.kernel.errors import Finding, LocktenderError, Pointer, Rejected
from locktender.contracts.kernel.problems import Problem
from locktender.contracts.stacks.models import ArchiveSource, GitSource, SourceSpec
from locktender.contracts.stacks.requests import LocalPlan
from locktender.integrations.objects.cipher import Cipher
from locktender.integrations.objects.errors import ObjectUnreadable
from locktender.integrations.sources.credentials import Token
from locktender.integrations.sources.errors import RefUnknown, SourceRefused, SourceUnavailable
from locktender.integrations.sources.git import resolve
from locktender.integrations.sources.git_remote import GitLimits
from locktender.integrations.sources.glance import glance
from locktender.storage.kernel.database import Row

_log = structlog.stdlib.get_logger(__name__)

GLANCE_SECONDS: Final = 5.0
"""What is shown of a commit is worth no more of anybody's time."""
_GLANCE_BYTES: Final = 16 * 1_048_576

_sources: TypeAdapter[SourceSpec] = TypeAdapter(SourceSpec)


@dataclass(frozen=True, slots=True)
class Pin:
    """A source that cannot change any more.

    Attributes:
        source: where it comes from, as the deployment keeps it.
        sha: the commit, or the SHA-256 of the archive.
        shown: what people are told of it, as far as it is known.
    """

    source: Mapping[str, Any]
    sha: str
    shown: Mapping[str, object]


class Pins:
    """Pins sources. Talks to repositories within the limits, and never inside of a transaction."""

    def __init__(self, *, archives: SourceArchives, cipher: Cipher, limits: GitLimits) -> None:
        self._archives = archives
        self._cipher = cipher
        self._limits = limits

    async def of_stack(self, stack: Row, commit: str | None) -> Pin:
        """The source of a stack, at `commit` if that is given, else at what its ref stands for now.

        A commit that is given is taken as it is: whether it exists is found out by the runner.

        Raises:
            ProblemError: the source cannot be used as it is, or the repository does not answer in time.
            Rejected: a commit of something that has none.
            Unavailable: the store of archives does not answer.
        """
        source = _sources.validate_json(stack["source"])
        match source:
            case GitSource():
                return await self._of_git(stack, source, commit)
            case ArchiveSource():
                if commit is not None:
                    message = "the source of this stack is an archive, which has no commits; leave this out"
                    raise Rejected([Finding(Pointer("/commit"), message, "no-commits")])
                if source.sha256 is None:
                    raise _refused("the stack has no archive yet; upload one, and name its SHA-256 in the source")
                await self._check(stack, source.sha256)
                return Pin(json.loads(stack["source"]), source.sha256, {})
            case _:
                assert_never(source)

    async def of_tree(self, stack: Row, plan: LocalPlan) -> Pin:
        """A working tree that was uploaded.

        Raises:
            ProblemError: it was not.
            Unavailable: the store of archives does not answer.
        """
        await self._check(stack, plan.sha256)
        shown = {"head": plan.commit, "dirty": plan.dirty}
        source = ArchiveSource(sha256=plan.sha256, path=plan.path).model_dump(mode="json", by_alias=True)
        return Pin(source, plan.sha256, {name: value for name, value in shown.items() if value is not None})

    async def _of_git(self, stack: Row, source: GitSource, commit: str | None) -> Pin:
        token = self._token(stack)
        sha = commit
        if sha is None:
            try:
                sha = await resolve(source.url, source.ref, token, self._limits)
            except (RefUnknown, SourceRefused) as error:
                raise _refused(str(error)) from error
            except SourceUnavailable as error:
                raise ProblemError(Problem.SOURCE_UNAVAILABLE, str(error)) from error
        shown = await self._shown(source.url, sha, token) | ({"ref": source.ref} if commit is None else {})
        return Pin(json.loads(stack["source"]), sha, shown)

    async def _shown(self, url: str, sha: str, token: Token | None) -> dict[str, object]:
        """What the commit says of itself, if that can be had quickly. A deployment does not depend on it."""
        seconds, most = min(GLANCE_SECONDS, self._limits.seconds), min(_GLANCE_BYTES, self._limits.most_bytes)
        try:
            seen = await glance(url, sha, token, replace(self._limits, seconds=seconds, most_bytes=most))
        except LocktenderError as error:
            _log.info("a commit could not be looked at", commit=sha, reason=str(error))
            return {}
        return {"subject": seen.subject, "author": seen.author, "authoredAt": seen.committed_at.isoformat()}

    async def _check(self, stack: Row, sha256: str) -> None:
        if not await self._archives.uploaded(stack, sha256):
            raise _refused("there is no archive with this SHA-256; upload it first")

    def _token(self, stack: Row) -> Token | None:
        if stack["git_token"] is None:
            return None
        try:
            return Token(self._cipher.open(f"git-token/{stack['id']}", stack["git_token"]).decode())
        except ObjectUnreadable:
            raise _refused("the token of the stack cannot be decrypted any more; set it again") from None


def _refused(detail: str) -> ProblemError:
    return ProblemError(Problem.SOURCE_REFUSED, detail)
