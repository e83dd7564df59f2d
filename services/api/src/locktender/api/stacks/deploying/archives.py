"""Uploaded sources: each kept under its SHA-256, and only if it is what that stands for."""

import asyncio
import hashlib
import re
from typing import Final

from pydantic import Field

from locktender.api.http.problems import ProblemError
from locktender.contracts.kernel.errors import NotFound
from locktender.contracts.kernel.problems import Problem
from locktender.contracts.stacks.models import StackWire
from locktender.integrations.objects.errors import ObjectTooLarge
from locktender.integrations.objects.places import source_place
from locktender.integrations.objects.store import ObjectStore
from locktender.storage.kernel.database import Row

GZIP: Final = "application/gzip"
_MAGIC = b"\x1f\x8b"
_DIGEST = re.compile("[0-9a-f]{64}")


class SourceArchive(StackWire):
    """An archive that deployments of the stack can be made of."""

    sha256: str
    size: int = Field(description="Bytes.")


class SourceArchives:
    """Archives in the object store, by stack. What is in them is looked at by the runner that opens them."""

    def __init__(self, store: ObjectStore) -> None:
        self._store = store

    async def keep(self, stack: Row, sha256: str, data: bytes) -> tuple[SourceArchive, bool]:
        """Keep an archive; and whether it was not there before. The same bytes again count as new: their age is.

        Raises:
            NotFound: the name is no SHA-256, so nothing can be there.
            ProblemError: these are other bytes, no gzip, or more than can be kept.
            Unavailable: the store does not answer.
        """
        if _DIGEST.fullmatch(sha256) is None:
            raise NotFound("source archive", "of this name")
        if not data.startswith(_MAGIC):
            raise ProblemError(Problem.SOURCE_REFUSED, "this is no tar.gz archive; send one")
        found = await asyncio.to_thread(lambda: hashlib.sha256(data).hexdigest())
        if found != sha256:
            detail = "the archive does not match the SHA-256 in its address; upload it again"
            raise ProblemError(Problem.SOURCE_REFUSED, detail)
        key = _key(stack, sha256)
        there = await self._store.exists(key)
        try:
            # Written anew where it is there, so that retention does not take it away before it is used.
            await self._store.put(key, data, once=not there)
        except ObjectTooLarge:
            raise ProblemError(Problem.TOO_LARGE, "the archive is larger than can be kept; leave files out") from None
        return SourceArchive(sha256=sha256, size=len(data)), not there

    async def uploaded(self, stack: Row, sha256: str) -> bool:
        """Whether there is such an archive.

        Raises:
            Unavailable: the store does not answer.
        """
        return await self._store.exists(_key(stack, sha256))


def _key(stack: Row, sha256: str) -> str:
    return source_place(stack["workspace"], stack["id"], sha256)
