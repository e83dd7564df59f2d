"""Answers as the server sends them: encoded once, by the models themselves."""

from litestar.types import Receive, Scope, Send
from pydantic import BaseModel

from locktender.contracts.deployments.models import Snapshot

_JSON = b"application/json"
_NO_STORE = {"Cache-Control": "no-store"}


class Answer:
    """A complete answer. It is an ASGI application, which the framework passes on without a further look."""

    def __init__(self, body: bytes, *, status: int, headers: dict[str, str]) -> None:
        self._body = body
        self._status = status
        self._headers = [
            (b"content-type", _JSON),
            (b"content-length", str(len(body)).encode()),
            *[(name.lower().encode(), value.encode()) for name, value in (_NO_STORE | headers).items()],
        ]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send it."""
        del scope, receive
        await send({"type": "http.response.start", "status": self._status, "headers": self._headers})
        await send({"type": "http.response.body", "body": self._body, "more_body": False})


def json_answer(model: BaseModel, *, status: int = 200, headers: dict[str, str] | None = None) -> Answer:
    """A model as JSON; never to be cached, because the next moment may make it untrue."""
    return Answer(model.model_dump_json(by_alias=True).encode(), status=status, headers=headers or {})


def snapshot_answer(snapshot: Snapshot, *, status: int = 200, headers: dict[str, str] | None = None) -> Answer:
    """A snapshot, with its revision as entity tag."""
    return json_answer(snapshot, status=status, headers={"ETag": f'"{snapshot.task.revision}"', **(headers or {})})
