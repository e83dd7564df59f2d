"""Daily partitions of the outbox: made ahead of time, dropped whole once published and past their retention."""

from sqlalchemy import Integer, func, select

from locktender.storage.kernel.clock import seconds
from locktender.storage.kernel.database import Database
from locktender.storage.kernel.statement import Statement, parameter

_PREPARE = Statement(
    "outbox.prepare_partitions",
    select(func.locktender.outbox_prepare(parameter("days", Integer())).column_valued("partition")),
)
_RETIRE = Statement(
    "outbox.retire_partitions",
    select(func.locktender.outbox_retire(seconds("retention")).column_valued("partition")),
)


class Partitions:
    """The partitions. The work is done by functions of the database, which alone may change its tables."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def prepare(self, days: int) -> list[str]:
        """Make today's partition and those of the next `days` days; the names of the new ones."""
        return [row[0] for row in await self._database.fetch(_PREPARE, days=days)]

    async def retire(self, retention: float) -> list[str]:
        """Drop partitions whose last row is older than `retention` seconds and published; their names.

        A partition that holds a single unpublished row stays, whatever its age.
        """
        return [row[0] for row in await self._database.fetch(_RETIRE, retention=retention)]
