"""Which documents are announced together. Pure.

Every announcement writes the whole timeline, so one for each document would cost the square of their number.
"""

from collections.abc import Iterator, Sequence
from itertools import groupby

from locktender.runner.executors.documents import Document

MOST_WRITES = 60
"""Announcements of one run, about: each phase adds at most one."""


def groups(ordered: Sequence[Document]) -> Iterator[list[Document]]:
    """`ordered` in runs of documents that may be sent at the same time: of one phase, and not too many.

    Up to sixty documents come one by one; of more, each group takes its share.
    """
    size = -(-len(ordered) // MOST_WRITES)
    for _, phase in groupby(ordered, key=lambda document: document.phase):
        members = list(phase)
        for start in range(0, len(members), size):
            yield members[start : start + size]
