"""Column groups and constraints that every leased table shares, and the outbox itself."""

from collections.abc import Iterable
from enum import StrEnum
from typing import Any, TypeVar

from sqlalchemy import (
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    DateTime,
    Index,
    Integer,
    MetaData,
    Sequence,
    SmallInteger,
    Table,
    Text,
    Uuid,
    text,
)
from sqlalchemy.dialects.postgresql import JSONB

from locktender.contracts.kernel.machine import Machine, in_order
from locktender.storage.kernel.clock import SCHEMA

S = TypeVar("S", bound=StrEnum)

SHARDS = 16
"""Aggregates are spread over this many shards; a relay replica leases some of them."""

metadata = MetaData(
    schema=SCHEMA,
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "ck": "ck_%(table_name)s_%(constraint_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s",
        "pk": "pk_%(table_name)s",
    },
)


def stamp(name: str, *, required: bool = False) -> Column[Any]:
    """A point in time. A required one defaults to the database's clock, which tests can move."""
    default = text(f"{SCHEMA}.now()") if required else None
    return Column(name, DateTime(timezone=True), nullable=not required, server_default=default)


def lease_columns() -> list[Column[Any]]:
    """Who may write the row, and until when."""
    return [
        Column("lease_owner", Text),
        Column("lease_epoch", BigInteger, nullable=False, server_default=text("0")),
        stamp("lease_claimed_at"),
        stamp("lease_expires_at"),
    ]


def machine_checks(machine: Machine[S]) -> list[CheckConstraint]:
    """What must hold of a row in any state, so that no writer can leave a half-truth."""
    return [
        CheckConstraint(f"status in ({quoted(machine.states)})", name="status_known"),
        *(_lease_checks(machine) if machine.leased else ()),
        CheckConstraint(
            f"(status in ({quoted(machine.terminal)})) = (completed_at is not null)", name="completed_iff_terminal"
        ),
    ]


def _lease_checks(machine: Machine[S]) -> list[CheckConstraint]:
    return [
        CheckConstraint(f"(status in ({quoted(machine.leased)})) = (lease_owner is not null)", name="owned_iff_leased"),
        CheckConstraint("(lease_owner is null) = (lease_expires_at is null)", name="owner_has_deadline"),
        CheckConstraint("lease_epoch >= 0", name="epoch_counts_up"),
    ]


def quoted(states: Iterable[S]) -> str:
    """States as a SQL list, in the order of their declaration."""
    return ", ".join(f"'{state}'" for state in in_order(states))


outbox_seq = Sequence("outbox_seq", metadata=metadata)
"""A sequence of its own: before PostgreSQL 17 a partitioned table has no identity columns."""

outbox = Table(
    "outbox",
    metadata,
    Column("created_at", DateTime(timezone=True), primary_key=True, server_default=text(f"{SCHEMA}.now()")),
    Column("seq", BigInteger, outbox_seq, primary_key=True, server_default=outbox_seq.next_value()),
    Column("event_id", Uuid, nullable=False, server_default=text(f"{SCHEMA}.new_event_id()")),
    Column("aggregate", Text, nullable=False),
    Column("shard", SmallInteger, nullable=False),
    Column("revision", BigInteger),
    Column("tombstone", Boolean, nullable=False, server_default=text("false")),
    Column("subject", Text, nullable=False),
    Column("type", Text, nullable=False),
    Column("data", JSONB, nullable=False),
    Column("headers", JSONB, nullable=False, server_default=text("'{}'")),
    stamp("published_at"),
    Column("attempts", Integer, nullable=False, server_default=text("0")),
    stamp("next_attempt_at"),
    Column("last_error", Text),
    postgresql_partition_by="RANGE (created_at)",
)
outbox.append_constraint(CheckConstraint("revision > 0", name="revision_counts_up"))
Index("ix_outbox_unpublished", outbox.c.seq, postgresql_where=outbox.c.published_at.is_(None))
Index(
    "ix_outbox_failing",
    outbox.c.aggregate,
    postgresql_where=outbox.c.published_at.is_(None) & outbox.c.next_attempt_at.is_not(None),
)

service_shard = Table(
    "service_shard",
    metadata,
    Column("service", Text, primary_key=True),
    Column("shard", SmallInteger, primary_key=True),
    Column("owner", Text),
    Column("epoch", BigInteger, nullable=False, server_default=text("0")),
    stamp("expires_at"),
)
