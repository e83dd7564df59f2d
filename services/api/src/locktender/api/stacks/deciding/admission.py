"""Who may command which stacks: decided by the grants first, then by the project of the stack."""

from dataclasses import dataclass
from fnmatch import fnmatchcase
from uuid import UUID

from locktender.api.http.auth import Gate, forbidden
from locktender.api.http.authorize import Decision, Kind, Principal, Verb, authorize
from locktender.api.http.gated import HttpRequest
from locktender.api.stacks.admitted import number_of, stack_of, workspace_of
from locktender.contracts.kernel.errors import NotFound
from locktender.storage.kernel.database import Database, Row, Transaction
from locktender.storage.stacks.lane import locked
from locktender.storage.stacks.reads import StackReads
from locktender.storage.stacks.stacks import find_stack


@dataclass(frozen=True, slots=True)
class Admitted:
    """A stack, and somebody who may do to it what they ask for. `row` is as the stack was at that moment."""

    by: Principal
    row: Row

    @property
    def workspace(self) -> str:
        """Where it is."""
        return self.row["workspace"]

    @property
    def stack(self) -> str:
        """Its name."""
        return self.row["name"]

    @property
    def stack_id(self) -> UUID:
        """Its incarnation."""
        return self.row["id"]

    def demand(self, verb: Verb) -> None:
        """Go on only if they may do this to the stack as well.

        Raises:
            ProblemError: they may not.
        """
        if authorize(self.by, self.workspace, Kind.STACK, verb, self.row["project"]) is not Decision.ALLOWED:
            raise forbidden(verb)


@dataclass(frozen=True, slots=True)
class Target:
    """A deployment that somebody may decide on. `trace` holds the headers of the trace that this belongs to."""

    workspace: str
    stack: str
    stack_id: UUID
    number: int
    deployment_id: UUID
    mode: str
    by: str
    trace: dict[str, str]


class StackAdmission:
    """In front of every command. What is not there and what is hidden look the same."""

    def __init__(self, gate: Gate, database: Database) -> None:
        self._gate = gate
        self._database = database
        self._reads = StackReads(database)

    async def stack(self, request: HttpRequest, *verbs: Verb) -> Admitted:
        """The stack of the path, for somebody who may do any of `verbs` to it.

        Raises:
            ProblemError: they may not.
            NotFound: there is no such stack.
        """
        by, patterns = await self.scope(request, *verbs)
        workspace, name = workspace_of(request), stack_of(request)

        async def work(tx: Transaction) -> Row:
            stack_id = await find_stack(tx, workspace, name)
            if stack_id is None:
                raise NotFound("stack", name)
            return await locked(tx, stack_id)

        row = await self._database.transact(work)
        if not any(fnmatchcase(row["project"], pattern) for pattern in patterns):
            raise forbidden(*verbs)
        return Admitted(by, row)

    async def target(self, request: HttpRequest, admitted: Admitted, trace: dict[str, str]) -> Target:
        """The deployment of the path.

        Raises:
            NotFound: the stack has no such deployment.
        """
        row = await self._reads.deployment(admitted.workspace, admitted.stack, number_of(request))
        if row is None or row["stack_id"] != admitted.stack_id:
            raise NotFound("deployment", "of this number")
        return Target(
            workspace=admitted.workspace, stack=admitted.stack, stack_id=admitted.stack_id, number=row["number"],
            deployment_id=row["id"], mode=row["mode"], by=admitted.by.name, trace=trace,
        )  # fmt: skip

    async def scope(self, request: HttpRequest, *verbs: Verb) -> tuple[Principal, tuple[str, ...]]:
        """Who asks, and the patterns of the projects in which they may do any of `verbs`: at least one.

        Raises:
            ProblemError: no valid token, a foreign workspace, or verbs that no grant includes.
        """
        return await self._gate.scope(request, Kind.STACK, *verbs)
