"""Tasks that wait for inputs, brought there as a runner brings them."""

import json
from uuid import UUID

from locktender.testkit.database import TestDatabase
from locktender.testkit.rows import OWNER, TIMELINE, TTL, told

TEMPLATE_FORM = {
    "code": "missing", "message": "values are needed",
    "inputs": [
        {"key": "title", "required": True},
        {"key": "admin_password", "required": True, "sensitive": True},
        {"key": "replicas", "type": "number", "default": "1"},
        {"key": "size", "type": "choice", "options": ["small", "large"], "default": "small"},
        {"key": "public", "type": "boolean", "default": "false"},
        {"key": "host", "required": True, "condition": "inputs.public === 'true'"},
        {"key": "motto"},
        {"key": "api_token", "sensitive": True},
    ],
}  # fmt: skip
"""The form of the template `wiki`, as its runner asks for it."""


async def park(db: TestDatabase, task_id: UUID | str, asked: object = None) -> UUID:
    """Queued → running → blocked, asking for `asked` (by default: the form of the wiki)."""
    row_id = UUID(str(task_id))
    writes = db.writes
    [claimed] = await writes.claim([row_id], OWNER, TTL)
    form = json.dumps(TEMPLATE_FORM if asked is None else asked)
    await writes.request_inputs(claimed.lease, told(), timeline=TIMELINE, asked=form)
    return row_id
