"""How often and how long: the settings of observation, in seconds."""

from dataclasses import dataclass, fields

from locktender.contracts.kernel.backoff import Backoff
from locktender.integrations.kube.watching import SILENCE_SECONDS


@dataclass(frozen=True, slots=True)
class InformerPace:
    """Settings of an `InformerHub`.

    Attributes:
        level: between two full lists while a watch runs; what a watch loses in silence is found after so long.
        unwatched: the same where there is no watch: the account lacks the right, or `watches` is used up.
        watch: how long a watch lasts at most; each is up to a fifth shorter, so that they do not end together.
        silence: without a byte for so long, a watch is dead. Longer than a minute, in which clusters send a bookmark.
        linger: how long a watch, and the credentials it needs, outlive the last who looked.
        connect: a connection that takes longer does not come.
        read: an answer that pauses for longer does not come.
        answer: no list may take longer, however many pages it has.
        watches: at most so many watches at once in the process; each needs one connection.
        objects: at most so many objects of one kind and namespace are kept.
    """

    level: float = 30.0
    unwatched: float = 2.0
    watch: int = 300
    silence: float = SILENCE_SECONDS
    linger: float = 2.0
    connect: float = 5.0
    read: float = 10.0
    answer: float = 30.0
    watches: int = 512
    objects: int = 20_000

    def __post_init__(self) -> None:
        if bad := [field.name for field in fields(self) if getattr(self, field.name) <= 0]:
            raise ValueError(f"must be above zero: {', '.join(bad)}")


USUAL = InformerPace()

AGAIN = Backoff(first=0.2, ceiling=10.0)
"""Pauses while a cluster does not answer, or ends its watches at once."""
