"""What every caller of the object store shares: where it is, which names it takes, how long an answer may take."""

import asyncio
import re
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from urllib.parse import unquote, urlsplit

from locktender.contracts.kernel.errors import Unavailable
from locktender.integrations.objects.backend import Backend
from locktender.integrations.objects.cloud import Cloud
from locktender.integrations.objects.folder import Folder

_KEY = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.=-]*(/[A-Za-z0-9_][A-Za-z0-9_.=-]*)*", re.ASCII)
_LONGEST_KEY = 512
_CLOUDS = ("s3", "gs", "az")


@asynccontextmanager
async def answering(seconds: float) -> AsyncGenerator[None]:
    """The deadline of one call. Raises `Unavailable` when it passes."""
    try:
        async with asyncio.timeout(seconds):
            yield
    except TimeoutError:
        raise Unavailable(f"the object store did not answer within {seconds:g} seconds") from None


def check_key(key: str) -> None:
    """Let a name of an object or folder pass. Raises `ValueError` for anything else."""
    if len(key) > _LONGEST_KEY or not _KEY.fullmatch(key):
        raise ValueError("this is no name of an object")


def backend_at(url: str, seconds: float) -> Backend:
    """The place that a URL names. Raises `ValueError` where it names none, and `Unavailable` as `Folder`."""
    parts = urlsplit(url)
    if parts.username is not None or parts.password is not None or parts.query or parts.fragment:
        raise ValueError("the URL of an object store is taken without credentials, query and fragment")
    if parts.scheme == "file" and not parts.netloc and parts.path.startswith("/") and parts.path.strip("/"):
        return Folder(Path(unquote(parts.path)))
    if parts.scheme == "memory" or (parts.scheme in _CLOUDS and parts.netloc):
        return Cloud(url, seconds)
    raise ValueError("the URL of an object store is file:///folder, memory:///, s3://…, gs://… or az://…")
