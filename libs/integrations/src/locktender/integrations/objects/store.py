"""The encrypted object store."""

import heapq
from functools import partial

from locktender.contracts.kernel.errors import Unavailable
from locktender.integrations.machine.threads import in_thread
from locktender.integrations.objects.backend import AlreadyThere, Backend, TooLong
from locktender.integrations.objects.cipher import OVERHEAD, Cipher
from locktender.integrations.objects.errors import ObjectExists, ObjectMissing, ObjectTooLarge, ObjectUnreadable
from locktender.integrations.objects.keys import KeyRing
from locktender.integrations.objects.opening import answering, backend_at, check_key

MOST_BYTES = 128 * 1_048_576
"""The largest object unless said otherwise; writing one takes about three times as much memory."""
_SECONDS = 60.0
_MOST_LISTED = 100_000
_MOST_ROUNDS = 1_000
_PLACE = "object/"


class ObjectStore:
    """Objects by name, each encrypted and bound to its name.

    Guaranteed: a write is all or nothing; what is read was written under that very name with a key of the ring, or
    `ObjectUnreadable` is raised. What a local folder guarantees across a crash is said by `Folder`.

    Not guaranteed: that an older version of the same object was not put back (names of content that may change are to
    be unique, or its digest kept elsewhere); names and sizes are visible to whoever holds the store. There are no
    ranges: an object is read whole, so that all of it is authenticated.

    Names are parts of letters, digits and `_.=-` (none begins with `.`, `=` or `-`), joined by `/`; others are
    programming errors (`ValueError`). Every call raises `Unavailable` when it takes longer than the deadline.
    """

    def __init__(
        self, backend: Backend, cipher: Cipher, seconds: float = _SECONDS, most_bytes: int = MOST_BYTES
    ) -> None:
        self._backend = backend
        self._cipher = cipher
        self._seconds = seconds
        self._most = most_bytes

    @classmethod
    def open(
        cls, url: str, key: KeyRing | bytes, *, seconds: float = _SECONDS, most_bytes: int = MOST_BYTES
    ) -> "ObjectStore":
        """The store at a URL. One in memory is a new and empty one each time.

        Args:
            url: file:///folder, memory:///, s3://bucket/prefix, gs://… or az://…; never with credentials,
                as those of a cloud come from the environment.
            key: the keys, or a single one of 32 bytes.
            seconds: deadline of each call.
            most_bytes: the largest object, before encryption.

        Raises:
            ValueError: the URL or the key cannot be used.
            Unavailable: the local folder cannot be made.
        """
        keys = KeyRing([key]) if isinstance(key, bytes) else key
        return cls(backend_at(url, seconds), Cipher(keys), seconds, most_bytes)

    async def put(self, key: str, data: bytes, *, once: bool = False) -> None:
        """Write an object, in place of what may be there.

        With `once` it is only created. Where one is there already, the same content is success, so that a repeat after
        a lost answer is answered like the first.

        Raises:
            ObjectExists: with `once`, something else is there.
            ObjectTooLarge: nothing was written.
        """
        check_key(key)
        if len(data) > self._most:
            raise ObjectTooLarge(key, self._most)
        async with answering(self._seconds):
            sealed = await in_thread(partial(self._cipher.seal, _PLACE + key, data))
            try:
                await self._backend.put(key, sealed, once=once)
            except AlreadyThere:
                await self._compare(key, data)

    async def get(self, key: str) -> bytes:
        """The content of an object.

        Raises:
            ObjectMissing: there is none.
            ObjectUnreadable: it was altered, moved, or encrypted by a key that is not here.
            ObjectTooLarge: it is above the limit; it was not read.
        """
        check_key(key)
        async with answering(self._seconds):
            try:
                sealed = await self._backend.get(key, self._most + OVERHEAD)
            except FileNotFoundError:
                raise ObjectMissing(key) from None
            except TooLong:
                raise ObjectTooLarge(key, self._most) from None
            return await in_thread(partial(self._cipher.open, _PLACE + key, sealed))

    async def exists(self, key: str) -> bool:
        """Whether there is an object now. It is not opened, so that `get` may still find it unreadable."""
        check_key(key)
        async with answering(self._seconds):
            return await self._backend.exists(key)

    async def list(self, prefix: str = "", *, limit: int = 1_000, after: str = "") -> list[str]:
        """The first `limit` names below the folder `prefix` that sort behind `after`, sorted.

        Raises:
            Unavailable: there are more than 100,000 below `prefix`; ask for a narrower one.
        """
        if prefix:
            check_key(prefix)
        async with answering(self._seconds):
            names = await self._backend.names(prefix, _MOST_LISTED + 1)
        if len(names) > _MOST_LISTED:
            raise Unavailable("the object store holds too many objects to list them at once")
        return heapq.nsmallest(limit, (name for name in names if name > after))

    async def delete(self, key: str) -> None:
        """Remove an object. That there is none is success."""
        check_key(key)
        async with answering(self._seconds):
            await self._backend.delete(key)

    async def delete_prefix(self, prefix: str) -> int:
        """Remove what is below the folder `prefix`, and say how many that were. Each removal has its own deadline.

        What is written meanwhile may stay. When it is interrupted, some are gone; repeat it.
        """
        check_key(prefix)
        removed = 0
        for _ in range(_MOST_ROUNDS):
            async with answering(self._seconds):
                names = await self._backend.names(prefix, _MOST_LISTED)
            for name in names:
                await self.delete(name)
            removed += len(names)
            if len(names) < _MOST_LISTED:
                return removed
        raise Unavailable("the object store is written faster than it can be emptied")

    async def _compare(self, key: str, data: bytes) -> None:
        """Say nothing if the object holds `data`."""
        try:
            present = await self._backend.get(key, self._most + OVERHEAD)
            plain = await in_thread(partial(self._cipher.open, _PLACE + key, present))
        except FileNotFoundError:
            raise Unavailable(f"object {key} was removed while it was written") from None
        except (TooLong, ObjectUnreadable):
            raise ObjectExists(key) from None
        if plain != data:
            raise ObjectExists(key)
