"""The routes that show what runs found out: HTTP in, a use case, HTTP out."""

from litestar import get
from litestar.handlers import HTTPRouteHandler

from locktender.api.http.auth import Gate
from locktender.api.http.authorize import Principal, Verb
from locktender.api.http.gated import HttpRequest, Method
from locktender.api.http.query import row_id
from locktender.api.http.responses import Answer
from locktender.api.stacks.admitted import STACK, admitted, number_of, stack_of, workspace_of
from locktender.api.stacks.inventory.queries import InventoryQueries
from locktender.api.stacks.inventory.told import Piece, Section
from locktender.contracts.kernel.errors import Finding, Pointer, Rejected
from locktender.contracts.stacks.inventory import LONGEST_ADDRESS, MOST_ADDRESSES

RUN = STACK + "/deployments/{number:str}/runs/{run_id:str}"
_FOR_EVER = "private, max-age=86400, immutable"


class InventoryRoutes:
    """The handlers. Each passes the gate."""

    def __init__(self, *, gate: Gate, queries: InventoryQueries) -> None:
        self._gate = gate
        self._queries = queries

    def handlers(self) -> list[HTTPRouteHandler]:
        """The routes, relative to the version prefix."""
        routes: list[tuple[str, Method]] = [
            (STACK + "/resources", self.resources),
            (STACK + "/outputs", self.outputs),
            (STACK + "/graph", self.graph),
            (RUN + "/plan-summary", self.summary),
            *((f"{RUN}/{section}", self._section(section)) for section in Section),
        ]
        return [get(path)(admitted(self._gate, Verb.READ, method)) for path, method in routes]

    async def resources(self, request: HttpRequest, _: Principal) -> Answer:
        """The inventory without values, or the resources at the addresses of the query with them."""
        addresses = _addresses(request)
        return _shown(await self._queries.resources(workspace_of(request), stack_of(request), addresses))

    async def outputs(self, request: HttpRequest, _: Principal) -> Answer:
        """The outputs."""
        return _shown(await self._queries.outputs(workspace_of(request), stack_of(request)))

    async def graph(self, request: HttpRequest, _: Principal) -> Answer:
        """The graph of the configuration."""
        return _shown(await self._queries.graph(workspace_of(request), stack_of(request)))

    async def summary(self, request: HttpRequest, _: Principal) -> Answer:
        """The plan of a run in numbers."""
        run_id = row_id(request.path_params, "run_id")
        piece = await self._queries.summary(workspace_of(request), stack_of(request), number_of(request), run_id)
        return _unchanging(request, piece)

    def _section(self, section: Section) -> Method:
        async def show(request: HttpRequest, _: Principal) -> Answer:
            where = (workspace_of(request), stack_of(request), number_of(request))
            piece = await self._queries.section(*where, row_id(request.path_params, "run_id"), section)
            return _unchanging(request, piece)

        return show


def _addresses(request: HttpRequest) -> list[str]:
    given = request.query_params.getall("address", [])
    if len(given) > MOST_ADDRESSES:
        raise _refused(f"ask for at most {MOST_ADDRESSES} addresses at once")
    if not all(0 < len(each) <= LONGEST_ADDRESS for each in given):
        raise _refused(f"an address has 1 to {LONGEST_ADDRESS} characters")
    return given


def _refused(message: str) -> Rejected:
    return Rejected([Finding(Pointer(""), message, "invalid-address")])


def _shown(body: bytes) -> Answer:
    return Answer(body, status=200, headers={})


def _unchanging(request: HttpRequest, piece: Piece) -> Answer:
    known = {each.strip().removeprefix("W/") for each in request.headers.get("if-none-match", "").split(",")}
    unchanged = not known.isdisjoint({piece.tag, "*"})
    headers = {"ETag": piece.tag, "Cache-Control": _FOR_EVER}
    return Answer(b"" if unchanged else piece.body, status=304 if unchanged else 200, headers=headers)
