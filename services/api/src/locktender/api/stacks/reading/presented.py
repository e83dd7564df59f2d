"""How each state of a deployment of a stack is shown. The same for everybody, so it is open to everybody."""

import hashlib
from functools import cache

from litestar import get
from litestar.handlers import HTTPRouteHandler

from locktender.api.http.gated import HttpRequest
from locktender.api.http.responses import Answer
from locktender.contracts.stacks.presentation import STACK_PRESENTATIONS, StackPresentationTable

PATH = "/stack-presentation"


def presentation_route() -> HTTPRouteHandler:
    """The table, with a tag that changes only when the table does. It names no workspace, stack or person."""

    @get(PATH)
    async def stack_presentation(request: HttpRequest) -> Answer:
        body, tag = _table()
        known = {each.strip().removeprefix("W/") for each in request.headers.get("if-none-match", "").split(",")}
        unchanged = not known.isdisjoint({tag, "*"})
        headers = {"ETag": tag, "Cache-Control": "no-cache"}
        return Answer(b"" if unchanged else body, status=304 if unchanged else 200, headers=headers)

    return stack_presentation


@cache
def _table() -> tuple[bytes, str]:
    table = StackPresentationTable(states=tuple(STACK_PRESENTATIONS.values()))
    body = table.model_dump_json(by_alias=True).encode()
    return body, f'"{hashlib.sha256(body).hexdigest()[:16]}"'
