"""The paths that are no objects: discovery, OpenAPI documents and reviews."""

from locktender.embedded.cluster.aggregated import MEDIA, aggregated, is_wanted
from locktender.embedded.cluster.auth import Bearer
from locktender.embedded.cluster.calls import Answer
from locktender.embedded.cluster.cluster import Cluster
from locktender.embedded.cluster.discovery import core_versions, group, groups, kinds
from locktender.embedded.cluster.exchange import Exchange
from locktender.embedded.cluster.openapi.documents import document, index, version_2
from locktender.embedded.cluster.refusal import no_such_path, not_acceptable
from locktender.embedded.cluster.request import decode_object
from locktender.embedded.cluster.resources import Registry
from locktender.embedded.cluster.reviews import serve_review


def discover(registry: Registry, server: str, steps: list[str], accept: str) -> Answer:
    """Answer `/api`, `/apis` and what they list.

    Raises:
        Refusal: 404 for a group or version that is not served.
    """
    match steps:
        case ["api" | "apis" as top] if is_wanted(accept):
            return Answer(200, aggregated(registry, core=top == "api"), {"content-type": MEDIA})
        case ["api"]:
            return Answer(200, core_versions(server))
        case ["apis"]:
            return Answer(200, groups(registry))
        case ["api", version]:
            found = kinds(registry, "", version)
        case ["apis", name]:
            found = group(registry, name)
        case _:
            found = kinds(registry, steps[1], steps[2])
    if found is None:
        raise no_such_path()
    return Answer(200, found)


async def serve_extra(cluster: Cluster, bearer: Bearer, exchange: Exchange) -> Answer:
    """Answer a request for one of these paths.

    Raises:
        Refusal: 404, 405, 406.
    """
    steps = [step for step in exchange.path.split("/") if step]
    match steps:
        case ["openapi", "v2"]:
            _check_readable(exchange.header(b"accept"))
            return Answer(200, version_2(cluster.registry))
        case ["openapi", "v3"]:
            return Answer(200, index(cluster.registry))
        case ["openapi", "v3", *place]:
            _check_readable(exchange.header(b"accept"))
            found = document(cluster.registry, "/".join(place))
            if found is None:
                raise no_such_path()
            return Answer(200, found)
        case _:
            body = decode_object(await exchange.body())
            return serve_review(cluster.registry, bearer, exchange.method, steps, body)


def _check_readable(accept: str) -> None:
    # The documents exist as JSON alone; clients that would only read the binary form must know.
    kinds = [entry.partition(";")[0].strip() for entry in accept.split(",") if entry.strip()]
    if kinds and not any(kind in ("application/json", "*/*", "application/*") for kind in kinds):
        raise not_acceptable(("application/json",))
