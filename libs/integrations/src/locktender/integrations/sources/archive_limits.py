"""How large an archive may be."""

from dataclasses import dataclass

_MEGABYTE = 1_048_576


@dataclass(frozen=True, slots=True)
class ArchiveLimits:
    """Bounds of an archive, for packing and for extracting alike.

    Attributes:
        packed_bytes: bytes of the archive itself, at most.
        bytes: bytes of all that is in it, names included, at most.
        entries: files, folders and links, at most.
    """

    packed_bytes: int = 64 * _MEGABYTE
    bytes: int = 512 * _MEGABYTE
    entries: int = 20_000
