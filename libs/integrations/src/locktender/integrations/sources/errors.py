"""Why a source cannot be had.

LocktenderError
├── Unavailable
│   └── SourceUnavailable   it did not answer in time or is away; trying again later is reasonable
├── SourceRefused           the address, the credentials, the size or the content cannot be accepted
│   └── ArchiveRefused      the archive is not one that we would have packed
├── RefUnknown              the repository has no such branch or tag
├── CommitUnknown           the repository no longer has, or never had, the commit
└── DigestMismatch          the archive is not the one that was named

No message contains credentials, or the address of the repository.
"""

from locktender.contracts.kernel.errors import LocktenderError, Unavailable


class SourceUnavailable(Unavailable):
    """The source did not answer in time, or could not be reached or written out."""


class SourceRefused(LocktenderError):
    """The source cannot be used as it is. Trying again is pointless until somebody changes something."""


class ArchiveRefused(SourceRefused):
    """An archive holds what none may hold, or more than it may. Nothing of it was left on disk."""


class RefUnknown(LocktenderError):
    """The repository has no such branch or tag, or more than one thing of that name."""


class CommitUnknown(LocktenderError):
    """The repository has no such commit among what its branches and tags reach."""

    def __init__(self, commit: str) -> None:
        super().__init__(f"the repository has no commit {commit}; it may have been removed by a forced push")
        self.commit = commit


class DigestMismatch(LocktenderError):
    """The bytes are not those that the SHA-256 stands for. Nothing of them was read further."""

    def __init__(self) -> None:
        super().__init__("the archive does not match its SHA-256; upload it again")
