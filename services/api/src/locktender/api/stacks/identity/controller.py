"""The routes of the issuer, at the root of the server: for everybody, without a token."""

from litestar import get
from litestar.handlers import HTTPRouteHandler
from litestar.types import ASGIApp
from pydantic import BaseModel

from locktender.api.http.gated import HttpRequest
from locktender.api.http.problems import ProblemError
from locktender.api.http.responses import json_answer
from locktender.api.stacks.identity.issuer import CONFIGURATION, KEYS, IdentityIssuer
from locktender.contracts.kernel.problems import Problem

_CACHED = {"Cache-Control": "public, max-age=300"}
_NONE = "no identity tokens are signed here: give the API LOCKTENDER_IDENTITY__KEYS and LOCKTENDER_PUBLIC_URL"


def identity_routes(issuer: IdentityIssuer | None) -> list[HTTPRouteHandler]:
    """The configuration and the keys of the issuer. Without one, both say so."""
    return [
        _published(CONFIGURATION, None if issuer is None else issuer.configuration()),
        _published(KEYS, None if issuer is None else issuer.key_set()),
    ]


def _published(path: str, document: BaseModel | None) -> HTTPRouteHandler:
    @get(path)
    async def answer(request: HttpRequest) -> ASGIApp:
        del request
        if document is None:
            raise ProblemError(Problem.NOT_FOUND, _NONE)
        return json_answer(document, headers=_CACHED)

    return answer
