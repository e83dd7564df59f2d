"""What the store needs of the place where bytes lie."""

from dataclasses import dataclass
from datetime import datetime
from typing import Protocol


class AlreadyThere(Exception):
    """A create-only write found an object."""


class TooLong(Exception):
    """An object is longer than was asked for."""


@dataclass(frozen=True, slots=True)
class Listed:
    """An object in a listing, and when it was written, by the clock of the place where it lies."""

    name: str
    modified: datetime


class Backend(Protocol):
    """Names to bytes. Names were checked before. A miss is `FileNotFoundError`; trouble is `Unavailable`."""

    async def put(self, key: str, data: bytes, *, once: bool) -> None:
        """Write all of it or nothing. Raises `AlreadyThere` when it may only create and something is there."""
        ...

    async def get(self, key: str, most: int) -> bytes:
        """All of an object. Raises `TooLong` above `most` bytes, without reading them."""
        ...

    async def exists(self, key: str) -> bool:
        """Whether something is there now."""
        ...

    async def names(self, prefix: str, most: int) -> list[str]:
        """Up to `most` names below the folder `prefix` (all of them for ""), in no order."""
        ...

    async def listed(self, prefix: str, after: str, most: int) -> list[Listed]:
        """The first `most` objects below the folder `prefix` whose names sort behind `after`, in that order."""
        ...

    async def delete(self, key: str) -> None:
        """Remove it. It is no miss when it is not there."""
        ...
