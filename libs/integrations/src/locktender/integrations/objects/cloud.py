"""Objects in S3, Google Cloud Storage, Azure or the memory of this process, by obstore."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from datetime import timedelta

from obstore.exceptions import AlreadyExistsError, BaseError, PermissionDeniedError, UnauthenticatedError
from obstore.store import MemoryStore, ObjectStore, from_url

from locktender.contracts.kernel.errors import Unavailable
from locktender.integrations.objects.backend import AlreadyThere, Listed, TooLong

_PAGE = 1_000


class Cloud:
    """A `Backend` on a bucket. Writes are atomic and lasting as far as the provider says that they are.

    A create-only write is the provider's conditional put. One that was retried after a lost answer may find its own
    object: the caller compares contents.
    """

    def __init__(self, url: str, seconds: float) -> None:
        """Credentials and endpoints come from the environment, as the provider's own tools take them.

        Raises:
            ValueError: the URL or that environment is incomplete.
        """
        try:
            self._store = _opened(url, seconds)
        except BaseError as error:
            raise ValueError(f"the object store cannot be opened: {str(error).splitlines()[0]}") from None

    async def put(self, key: str, data: bytes, *, once: bool) -> None:
        async with _told():
            await self._store.put_async(key, data, mode="create" if once else "overwrite")

    async def get(self, key: str, most: int) -> bytes:
        async with _told():
            answer = await self._store.get_async(key)
            if answer.meta["size"] > most:
                raise TooLong
            return bytes(await answer.bytes_async())

    async def exists(self, key: str) -> bool:
        try:
            async with _told():
                await self._store.head_async(key)
        except FileNotFoundError:
            return False
        return True

    async def names(self, prefix: str, most: int) -> list[str]:
        found: list[str] = []
        where = f"{prefix}/" if prefix else None
        # Another overload of it returns tables of a package that is not installed.
        pages = self._store.list(where, chunk_size=_PAGE)  # pyright: ignore[reportUnknownMemberType]
        async with _told():
            async for page in pages:
                found += [entry["path"] for entry in page]
                if len(found) >= most:
                    break
        return found[:most]

    async def listed(self, prefix: str, after: str, most: int) -> list[Listed]:
        # Every provider that we take lists in the order of names, and S3 and GCS begin at the offset by themselves.
        found: list[Listed] = []
        pages = self._store.list(  # pyright: ignore[reportUnknownMemberType]  # as above
            f"{prefix}/", offset=after or None, chunk_size=min(most, _PAGE)
        )
        async with _told():
            async for page in pages:
                found += [Listed(entry["path"], entry["last_modified"]) for entry in page]
                if len(found) >= most:
                    break
        return found[:most]

    async def delete(self, key: str) -> None:
        with suppress(FileNotFoundError):
            async with _told():
                await self._store.delete_async(key)


def _opened(url: str, seconds: float) -> ObjectStore:
    if url.startswith("memory:"):
        return MemoryStore()
    patience = timedelta(seconds=seconds)
    return from_url(
        url, client_options={"timeout": patience}, retry_config={"max_retries": 4, "retry_timeout": patience}
    )


@asynccontextmanager
async def _told() -> AsyncGenerator[None, None]:
    """Errors of obstore as ours. What they say in detail may name the account, so it stays in the cause."""
    try:
        yield
    except AlreadyExistsError:
        raise AlreadyThere from None
    except (PermissionDeniedError, UnauthenticatedError) as error:
        raise Unavailable("the object store refuses the credentials of this process") from error
    except FileNotFoundError:
        raise
    except (BaseError, OSError, ValueError) as error:
        raise Unavailable("the object store cannot be used") from error
