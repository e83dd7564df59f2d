"""The insert of a task, answered with the moment at which the database made it."""

from datetime import datetime

from locktender.storage.deployments.create import CREATE, CREATE_COLUMNS, NewTask
from locktender.storage.kernel.batching import Batcher
from locktender.storage.kernel.database import Database


class Inserts:
    """Like `DeploymentWrites.create`, and with its guarantees; the answer saves the read that would follow."""

    def __init__(self, database: Database) -> None:
        self._create = Batcher(database, CREATE, CREATE_COLUMNS)

    async def create(self, task: NewTask) -> datetime | None:
        """When the queued task was made, with its event and command. None: its idempotency key is already taken.

        Raises:
            Conflict: another uniqueness rule was hit.
            OutcomeUnknown: the database went away; read by id before trying again.
        """
        row = await self._create.write(task.id, **task.columns())
        return None if row is None else row["created_at"]
