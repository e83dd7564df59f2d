"""Who may command which stacks: decided by the grants first, then by the project of the stack."""

from collections.abc import Collection
from dataclasses import dataclass
from fnmatch import fnmatchcase
from uuid import UUID

from locktender.api.http.auth import Gate
from locktender.api.http.authorize import ANY, Kind, Principal, Verb
from locktender.api.http.gated import HttpRequest
from locktender.api.http.problems import ProblemError
from locktender.api.stacks.admitted import number_of, stack_of, workspace_of
from locktender.contracts.kernel.errors import NotFound
from locktender.contracts.kernel.problems import Problem
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
            raise _forbidden(verbs)
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
        refused = _forbidden(verbs)
        for verb in verbs:
            try:
                by = await self._gate.admit(request, Kind.STACK, verb)
            except ProblemError as error:
                if error.problem is not Problem.FORBIDDEN:
                    raise
                continue
            return by, patterns_of(by, workspace_of(request), verbs)
        raise refused


def patterns_of(by: Principal, workspace: str, verbs: Collection[Verb]) -> tuple[str, ...]:
    """The projects of a workspace in which somebody may do any of `verbs` to stacks, as their grants spell them."""
    wanted = {ANY, *verbs}
    names = [
        grant.name
        for grant in by.grants
        if grant.workspace in {ANY, workspace}
        and grant.kind in {ANY, Kind.STACK}
        and not grant.verbs.isdisjoint(wanted)
    ]
    return tuple(dict.fromkeys(names))


def _forbidden(verbs: Collection[Verb]) -> ProblemError:
    return ProblemError(Problem.FORBIDDEN, f"your grants in this workspace do not include to {' or '.join(verbs)}")
