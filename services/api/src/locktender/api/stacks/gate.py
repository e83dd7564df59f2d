"""The gate in front of what is read of stacks: a grant on some projects opens the stacks of those."""

from collections.abc import Sequence
from fnmatch import fnmatchcase
from typing import Any

from litestar import Request

from locktender.api.http.auth import Gate, Issuer, forbidden
from locktender.api.http.authorize import ANY, Kind, Principal, Verb
from locktender.api.http.query import is_name
from locktender.contracts.kernel.errors import NotFound
from locktender.storage.kernel.database import Database
from locktender.storage.stacks.reads import StackReads


class StackGate(Gate):
    """Admits to a stack whoever may do so in its project. What is of no single stack takes a grant on every project."""

    def __init__(self, issuers: Sequence[Issuer], database: Database) -> None:
        super().__init__(issuers)
        self._reads = StackReads(database)

    async def admit(self, request: Request[Any, Any, Any], kind: Kind, verb: Verb) -> Principal:
        """As `Gate.admit`.

        Raises:
            ProblemError: as `Gate.admit`.
            NotFound: there is no such stack.
            Unavailable: a token cannot be checked, or the record does not answer.
        """
        by, patterns = await self.scope(request, kind, verb)
        if ANY in patterns:
            return by
        if kind is not Kind.STACK or "stack" not in request.path_params:
            raise forbidden(verb)
        project = await self._project(request)
        if not any(fnmatchcase(project, pattern) for pattern in patterns):
            raise forbidden(verb)
        return by

    async def _project(self, request: Request[Any, Any, Any]) -> str:
        workspace, name = str(request.path_params["workspace"]), str(request.path_params["stack"])
        project = await self._reads.project(workspace, name) if is_name(name) else None
        if project is None:
            raise NotFound("stack", "of this name")
        return project
