"""Proof of ownership. A write on a leased row takes a `Lease`, never a bare id."""

from dataclasses import dataclass
from typing import NewType
from uuid import UUID

Epoch = NewType("Epoch", int)
"""Counts the owners a row has had. The only execution right: a write under a lower one changes nothing."""

Owner = NewType("Owner", str)
"""`<service instance>/<boot id>`: new at every start of a process, so a restart never inherits a lease."""


@dataclass(frozen=True, slots=True)
class Lease:
    """The right to write one row, until the row's epoch moves on."""

    row_id: UUID
    owner: Owner
    epoch: Epoch
