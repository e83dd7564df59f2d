"""The object store for whoever only removes: no key is needed, and nothing can be read."""

from locktender.contracts.kernel.errors import Unavailable
from locktender.integrations.objects.backend import Backend, Listed
from locktender.integrations.objects.opening import answering, backend_at, check_key

_SECONDS = 60.0
_AT_ONCE = 1_000
_MOST_ROUNDS = 1_000


class ObjectRemover:
    """Lists and removes objects. Every call raises `Unavailable` when it takes longer than the deadline.

    That there is nothing to remove is success, so that a removal that was broken off is simply repeated.
    """

    def __init__(self, backend: Backend, seconds: float = _SECONDS) -> None:
        self._backend = backend
        self._seconds = seconds

    @classmethod
    def open(cls, url: str, *, seconds: float = _SECONDS) -> "ObjectRemover":
        """The store at a URL, as `ObjectStore.open` takes it.

        Raises:
            ValueError: the URL cannot be used.
            Unavailable: the local folder cannot be made.
        """
        return cls(backend_at(url, seconds), seconds)

    async def page(self, prefix: str, *, after: str, limit: int) -> list[Listed]:
        """The first `limit` objects below the folder `prefix` whose names sort behind `after`, in that order."""
        check_key(prefix)
        async with answering(self._seconds):
            return await self._backend.listed(prefix, after, limit)

    async def delete(self, key: str) -> None:
        """Remove an object."""
        check_key(key)
        await self._delete(key)

    async def delete_folder(self, prefix: str) -> int:
        """Remove what is below the folder `prefix`, and say how many that were. Each removal has its own deadline.

        Once this returns, a listing has shown that nothing is left. What is written meanwhile may stay.

        Raises:
            Unavailable: the store does not answer; some may be gone.
        """
        removed = 0
        for _ in range(_MOST_ROUNDS):
            found = await self.page(prefix, after="", limit=_AT_ONCE)
            if not found:
                return removed
            for each in found:
                await self._delete(each.name)
            removed += len(found)
        raise Unavailable("the object store is written faster than it can be emptied")

    async def _delete(self, key: str) -> None:
        async with answering(self._seconds):
            await self._backend.delete(key)
