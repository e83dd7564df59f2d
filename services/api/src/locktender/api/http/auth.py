"""Who is calling: the bearer token, the principal behind it, and the gate in front of the routes."""

import hashlib
import hmac
from collections.abc import Sequence
from typing import Any, NewType, Protocol

from litestar import Request

from locktender.api.http.authorize import ANY, Decision, Grant, Kind, Principal, Verb, authorize, scope
from locktender.api.http.problems import ProblemError
from locktender.api.http.query import is_name
from locktender.contracts.kernel.problems import Problem

ADMIN = "admin"

_TOKEN_LIMIT = 8192

Token = NewType("Token", str)


class Issuer(Protocol):
    """One way to prove who somebody is."""

    async def principal(self, token: Token) -> Principal | None:
        """The principal behind a token; None when this issuer does not know it.

        Raises:
            Unavailable: it cannot be checked at this moment.
        """
        ...


class AdminToken:
    """The one token of a local system. Only its SHA-256 is known here; tokens are random, so that needs no salt."""

    def __init__(self, sha256: str) -> None:
        self._sha256 = sha256
        self._principal = Principal(ADMIN, (Grant(ANY, ANY, ANY, frozenset({ANY})),))

    async def principal(self, token: Token) -> Principal | None:
        """The administrator, when it is their token. Takes the same time for every wrong one."""
        digest = hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()
        return self._principal if hmac.compare_digest(digest, self._sha256) else None


class Gate:
    """In front of every route that is not open to all: who is it, and may they? Closed by default."""

    def __init__(self, issuers: Sequence[Issuer]) -> None:
        self._issuers = tuple(issuers)

    @property
    def issuers(self) -> tuple[Issuer, ...]:
        """Who is asked about tokens, in this order."""
        return self._issuers

    async def admit(self, request: Request[Any, Any, Any], kind: Kind, verb: Verb) -> Principal:
        """The principal behind a request, when they may do `verb` in the workspace of its path.

        Raises:
            ProblemError: no valid token, a foreign workspace, or a verb that no grant includes.
            Unavailable: a token cannot be checked at this moment.
        """
        principal = await _authenticate(request.headers.get("authorization", ""), self._issuers)
        workspace = str(request.path_params.get("workspace", ""))
        known = is_name(workspace)
        match authorize(principal, workspace, kind, verb) if known else Decision.HIDDEN:
            case Decision.ALLOWED:
                return principal
            case Decision.FORBIDDEN:
                raise forbidden(verb)
            case Decision.HIDDEN:
                raise _hidden()

    async def scope(
        self, request: Request[Any, Any, Any], kind: Kind, *verbs: Verb
    ) -> tuple[Principal, tuple[str, ...]]:
        """The principal, and the patterns of the names on which they may do any of `verbs`: at least one.

        For what is decided by name: the caller looks the name up afterwards, and holds it against the patterns.

        Raises:
            ProblemError: no valid token, a foreign workspace, or verbs that no grant includes.
            Unavailable: a token cannot be checked at this moment.
        """
        principal = await _authenticate(request.headers.get("authorization", ""), self._issuers)
        workspace = str(request.path_params.get("workspace", ""))
        names = scope(principal, workspace, kind, verbs) if is_name(workspace) else None
        if names is None:
            raise _hidden()
        if not names:
            raise forbidden(*verbs)
        return principal, names


def forbidden(*verbs: Verb) -> ProblemError:
    """What somebody is told who may not do any of these."""
    return ProblemError(Problem.FORBIDDEN, f"your grants in this workspace do not include to {' or '.join(verbs)}")


def _hidden() -> ProblemError:
    return ProblemError(Problem.NOT_FOUND, "there is no such workspace, or none that you may see")


async def _authenticate(header: str, issuers: Sequence[Issuer]) -> Principal:
    scheme, _, token = header.partition(" ")
    token = token.strip()
    if scheme.lower() != "bearer" or not token:
        raise _unauthenticated("send `Authorization: Bearer TOKEN`", "")
    if len(token) <= _TOKEN_LIMIT:
        for issuer in issuers:
            principal = await issuer.principal(Token(token))
            if principal is not None:
                return principal
    raise _unauthenticated("the token is not valid, or no longer", ', error="invalid_token"')


def _unauthenticated(detail: str, extra: str) -> ProblemError:
    challenge = {"WWW-Authenticate": f'Bearer realm="locktender"{extra}'}
    return ProblemError(Problem.UNAUTHENTICATED, detail, headers=challenge)
