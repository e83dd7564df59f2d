"""What the object store can answer instead of what was asked for.

LocktenderError
├── NotFound
│   └── ObjectMissing     there is no object of this name
├── ObjectExists          a write-once object is there already, with other content
├── ObjectUnreadable      it is there, and no key of the settings opens it as the object of this name
├── ObjectTooLarge        it is above the store's limit
└── Unavailable           the store did not answer in time, or refused us
"""

from enum import StrEnum

from locktender.contracts.kernel.errors import LocktenderError, NotFound


class ObjectMissing(NotFound):
    """There is no object of this name."""

    def __init__(self, key: str) -> None:
        super().__init__("object", key)


class ObjectExists(LocktenderError):
    """An object is there already, and what it holds is not what was to be written. It was not changed."""

    def __init__(self, key: str) -> None:
        super().__init__(f"object {key} exists already and holds something else")
        self.key = key


class Unreadable(StrEnum):
    """Why sealed bytes cannot be opened."""

    FOREIGN = "foreign"
    """They were never sealed by us, or are cut off near the beginning."""
    UNKNOWN_KEY = "unknown_key"
    """The key that sealed them is not in the settings."""
    ALTERED = "altered"
    """They were changed, or belong to another name."""


class ObjectUnreadable(LocktenderError):
    """Sealed bytes that cannot be opened. Trying again is pointless; nothing of the content was given out."""

    def __init__(self, what: str, reason: Unreadable) -> None:
        told = {
            Unreadable.FOREIGN: "it was not written by Locktender",
            Unreadable.UNKNOWN_KEY: "the key that encrypted it is missing; add that key to the settings again",
            Unreadable.ALTERED: "it was altered or put under another name; restore it from a backup",
        }
        super().__init__(f"{what} cannot be decrypted: {told[reason]}")
        self.what = what
        self.reason = reason


class ObjectTooLarge(LocktenderError):
    """The object is above the limit of the store. `most` is that limit in bytes."""

    def __init__(self, key: str, most: int) -> None:
        super().__init__(f"object {key} is larger than the limit of {most} bytes")
        self.key = key
        self.most = most
