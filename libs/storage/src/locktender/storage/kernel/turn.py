"""A turn: of all replicas of a service, one does a piece of work at a time. It spares effort, and fences nothing."""

from typing import Final

from sqlalchemy import Text, null, or_, update
from sqlalchemy.dialects.postgresql import insert

from locktender.contracts.kernel.lease import Owner
from locktender.storage.kernel.clock import db_now, seconds
from locktender.storage.kernel.database import Database
from locktender.storage.kernel.statement import Statement, constant, parameter
from locktender.storage.kernel.tables import service_shard

_s = service_shard.c
_service, _owner = parameter("service", Text()), parameter("owner", Text())
_until = db_now() + seconds("ttl")

TAKE: Final = Statement(
    "service_shard.take_turn",
    insert(service_shard)
    .values(service=_service, shard=constant(0), owner=_owner, epoch=constant(1), expires_at=_until)
    .on_conflict_do_update(
        index_elements=[_s.service, _s.shard],
        set_={"owner": _owner, "epoch": _s.epoch + constant(1), "expires_at": _until},
        where=or_(_s.owner.is_(None), _s.owner == _owner, _s.expires_at <= db_now()),
    )
    .returning(_s.epoch),
)
GIVE: Final = Statement(
    "service_shard.give_turn",
    update(service_shard)
    .where(_s.service == _service, _s.shard == constant(0), _s.owner == _owner)
    .values(owner=null(), expires_at=null())
    .returning(_s.epoch),
)


class Turn:
    """The turn at the work called `name`, as one replica sees it.

    Not guaranteed: that nobody else works once `ttl` has passed. Work that is done twice has to do no harm.
    """

    def __init__(self, database: Database, name: str, owner: Owner, *, ttl: float) -> None:
        self._database = database
        self._mine: dict[str, object] = {"service": name, "owner": owner}
        self._ttl = ttl

    async def take(self) -> bool:
        """Have the turn for `ttl` seconds from now, or go on having it. False: it is somebody else's."""
        return bool(await self._database.fetch(TAKE, ttl=self._ttl, **self._mine))

    async def give(self) -> None:
        """Let somebody else have it at once."""
        await self._database.fetch(GIVE, **self._mine)
