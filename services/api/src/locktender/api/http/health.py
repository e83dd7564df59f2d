"""Is this process alive, and can it serve? For orchestrators, without a token."""

import json
from typing import Any

from litestar import Request, Response, get
from litestar.handlers import HTTPRouteHandler

from locktender.runtime.health import Health

_NO_STORE = {"Cache-Control": "no-store"}


def health_routes(health: Health) -> list[HTTPRouteHandler]:
    """`/healthz` and `/readyz`."""

    @get("/healthz")
    async def healthz(request: Request[Any, Any, Any]) -> Response[bytes]:
        del request
        return Response(b'{"alive": true}', media_type="application/json", headers=_NO_STORE)

    @get("/readyz")
    async def readyz(request: Request[Any, Any, Any]) -> Response[bytes]:
        del request
        report = await health.report()
        body = json.dumps(report.document()).encode()
        status = 200 if report.ready else 503
        return Response(body, status_code=status, media_type="application/json", headers=_NO_STORE)

    return [healthz, readyz]
