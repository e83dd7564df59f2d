"""Shard leases: several relays share the aggregates, and no two publish one aggregate at a time."""

from dataclasses import dataclass

from sqlalchemy import ARRAY, BigInteger, SmallInteger, Text, cast, func, null, or_, select, update
from sqlalchemy.dialects.postgresql import insert

from locktender.contracts.kernel.lease import Owner
from locktender.storage.kernel.clock import db_now, seconds
from locktender.storage.kernel.database import Database
from locktender.storage.kernel.statement import Statement, constant, parameter
from locktender.storage.kernel.tables import SHARDS, service_shard

_s = service_shard.c
_service = parameter("service", Text())
_owner = parameter("owner", Text())

_PREPARE = Statement(
    "service_shard.prepare",
    insert(service_shard)
    .from_select(
        ["service", "shard"],
        select(
            _service,
            cast(func.generate_series(constant(0), constant(SHARDS - 1)), SmallInteger),
        ),
    )
    .on_conflict_do_nothing(),
)
_RENEW = Statement(
    "service_shard.renew",
    update(service_shard)
    .where(_s.service == _service, _s.owner == _owner, _s.expires_at > db_now())
    .values(expires_at=db_now() + seconds("ttl"))
    .returning(_s.shard, _s.epoch),
)
_free = (
    select(_s.service, _s.shard)
    .where(_s.service == _service, or_(_s.owner.is_(None), _s.expires_at <= db_now()))
    .order_by(_s.shard)
    .limit(parameter("wanted", BigInteger()))
    .with_for_update(skip_locked=True)
    .cte("free")
)
_TAKE = Statement(
    "service_shard.take",
    update(service_shard)
    .where(_s.service == _free.c.service, _s.shard == _free.c.shard)
    .values(owner=_owner, epoch=_s.epoch + 1, expires_at=db_now() + seconds("ttl"))
    .returning(_s.shard, _s.epoch),
)
_RELEASE = Statement(
    "service_shard.release",
    update(service_shard)
    .where(
        _s.service == _service,
        _s.owner == _owner,
        _s.shard == func.any(parameter("shards", ARRAY(SmallInteger()))),
    )
    .values(owner=null(), expires_at=null())
    .returning(_s.shard),
)
_SHARERS = Statement(
    "service_shard.sharers",
    select(func.count(_s.owner.distinct()).label("owners")).where(
        _s.service == _service, _s.expires_at > db_now(), _s.owner != _owner
    ),
)


@dataclass(frozen=True, slots=True)
class Held:
    """A shard under a lease."""

    shard: int
    epoch: int


class Shards:
    """The shards of one service, leased by one owner."""

    def __init__(self, database: Database, service: str, owner: Owner) -> None:
        self._database = database
        self._mine: dict[str, object] = {"service": service, "owner": owner}

    async def prepare(self) -> None:
        """Make sure that the rows exist."""
        await self._database.fetch(_PREPARE, service=self._mine["service"])

    async def renew(self, ttl: float) -> list[Held]:
        """Move the deadline of every shard still held, and say which those are."""
        return [Held(row["shard"], row["epoch"]) for row in await self._database.fetch(_RENEW, ttl=ttl, **self._mine)]

    async def take(self, wanted: int, ttl: float) -> list[Held]:
        """Take up to `wanted` shards that nobody holds."""
        rows = await self._database.fetch(_TAKE, wanted=wanted, ttl=ttl, **self._mine)
        return [Held(row["shard"], row["epoch"]) for row in rows]

    async def release(self, shards: list[int]) -> None:
        """Give shards back at once, for another replica or at shutdown."""
        await self._database.fetch(_RELEASE, shards=shards, **self._mine)

    async def sharers(self) -> int:
        """How many other owners hold a live shard."""
        row = await self._database.fetch_one(_SHARERS, **self._mine)
        return 0 if row is None else row["owners"]
