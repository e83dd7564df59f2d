"""`GET /v1/presentation`: how each state of a task is shown. The same for everybody, so it is open to everybody."""

import hashlib
from functools import cache
from typing import Any

from litestar import Request, get
from litestar.handlers import HTTPRouteHandler

from locktender.api.http.responses import Answer
from locktender.contracts.deployments.presentation import PRESENTATIONS, PresentationTable

PATH = "/presentation"


def presentation_route() -> HTTPRouteHandler:
    """The table, with a tag that changes only when the table does. It names no workspace, task or person."""

    @get(PATH)
    async def presentation(request: Request[Any, Any, Any]) -> Answer:
        body, tag = _table()
        known = {each.strip().removeprefix("W/") for each in request.headers.get("if-none-match", "").split(",")}
        unchanged = not known.isdisjoint({tag, "*"})
        headers = {"ETag": tag, "Cache-Control": "no-cache"}
        return Answer(b"" if unchanged else body, status=304 if unchanged else 200, headers=headers)

    return presentation


@cache
def _table() -> tuple[bytes, str]:
    body = PresentationTable(states=tuple(PRESENTATIONS.values())).model_dump_json(by_alias=True).encode()
    return body, f'"{hashlib.sha256(body).hexdigest()[:16]}"'
