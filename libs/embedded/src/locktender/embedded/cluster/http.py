"""The cluster over ASGI: from a connection to an answer, with faults on the way."""

import asyncio
import logging

from locktender.embedded.cluster.api import Answer, Call, serve
from locktender.embedded.cluster.auth import Bearer, authorize
from locktender.embedded.cluster.cluster import Cluster
from locktender.embedded.cluster.discovery import VERSION, core_versions, group, groups, kinds
from locktender.embedded.cluster.exchange import Drop, Exchange, Receive, Scope, Send
from locktender.embedded.cluster.refusal import Refusal, internal, no_such_path
from locktender.embedded.cluster.request import (
    MUTATING,
    Target,
    decode_object,
    target_of,
)
from locktender.embedded.cluster.sandbox import KeepToken, serve_sandbox
from locktender.embedded.cluster.selectors import selection
from locktender.embedded.cluster.shapes import Obj
from locktender.embedded.cluster.watch import events, wanted

_PROBES = ("/healthz", "/livez", "/readyz")
_log = logging.getLogger(__name__)


class ClusterApp:
    """The ASGI application of one cluster.

    Every answer that is no success is a `Status` object; a bug in the cluster is a 500 without details.
    """

    def __init__(self, cluster: Cluster, *, server: str, drop: Drop, keep_token: KeepToken) -> None:
        self._cluster = cluster
        self._server = server
        self._drop = drop
        self._keep_token = keep_token

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        exchange = Exchange(scope, receive, send, self._drop)
        try:
            await self._route(exchange)
        except Refusal as refusal:
            await exchange.refuse(refusal)
        except Exception:  # noqa: BLE001 - a bug becomes a 500 without details, and a log line with them
            _log.exception("the sandbox cluster could not serve a request")
            await exchange.refuse(internal())

    async def _route(self, exchange: Exchange) -> None:
        path = exchange.path
        if path in _PROBES or path.startswith(("/livez/", "/readyz/")):
            await exchange.text("ok")
        elif path.rstrip("/") == "/version":
            await exchange.answer(Answer(200, VERSION))
        else:
            bearer = self._cluster.tokens.bearer(exchange.header(b"authorization"))
            await self._route_known(exchange, bearer)

    async def _route_known(self, exchange: Exchange, bearer: Bearer) -> None:
        steps = [step for step in exchange.path.split("/") if step]
        registry = self._cluster.registry
        match steps:
            case ["sandbox", _]:
                await self._sandbox(exchange, bearer)
            case ["api"]:
                await exchange.answer(Answer(200, core_versions(self._server)))
            case ["apis"]:
                await exchange.answer(Answer(200, groups(registry)))
            case ["apis", name]:
                await exchange.answer(Answer(200, _known(group(registry, name))))
            case ["api", version]:
                await exchange.answer(Answer(200, _known(kinds(registry, "", version))))
            case ["apis", name, version]:
                await exchange.answer(Answer(200, _known(kinds(registry, name, version))))
            case ["api", _, _, *_] | ["apis", _, _, _, *_]:
                target = target_of(registry, exchange.method, exchange.path, exchange.query)
                await self._resource(exchange, bearer, target)
            case _:
                raise no_such_path()

    async def _sandbox(self, exchange: Exchange, bearer: Bearer) -> None:
        body = decode_object(await exchange.body())
        answer = serve_sandbox(
            self._cluster, bearer, exchange.method, exchange.path, exchange.query, body, self._keep_token
        )
        await exchange.answer(answer)

    async def _resource(self, exchange: Exchange, bearer: Bearer, target: Target) -> None:
        if target.verb == "watch":
            authorize(bearer, target)
            await self._watch(exchange, bearer, target)
            return
        raw = b""
        try:
            authorize(bearer, target)
            raw = await exchange.body()
            fault = self._cluster.faults.hit(target, bearer.user)
            if fault and fault.latency:
                await self._cluster.clock.sleep(fault.latency)
            if fault and not fault.after and await exchange.fails(fault):
                self._record(exchange, bearer, target, Answer(0, {}, submitted=_readable(raw)))
                return
            answer = self._serve(exchange, target, raw)
        except Refusal as refusal:
            self._record(exchange, bearer, target, Answer(refusal.code, {}, submitted=_readable(raw)))
            raise
        self._record(exchange, bearer, target, answer)
        if fault and fault.after and await exchange.fails(fault):
            return
        await exchange.answer(answer, cut=bool(fault and fault.cut))

    def _serve(self, exchange: Exchange, target: Target, raw: bytes) -> Answer:
        content_type = exchange.header(b"content-type").partition(";")[0].strip().lower()
        agent = exchange.header(b"user-agent")
        return serve(self._cluster, Call(target, exchange.query, content_type, agent, raw))

    def _record(self, exchange: Exchange, bearer: Bearer, target: Target, answer: Answer) -> None:
        if target.verb in MUTATING:
            self._cluster.ledger.record(target, bearer.user, exchange.query, answer.submitted, answer.code, answer.body)

    async def _watch(self, exchange: Exchange, bearer: Bearer, target: Target) -> None:
        query, cluster = exchange.query, self._cluster
        matches = selection(query.get("labelSelector", ""), query.get("fieldSelector", ""))
        wish = wanted(target.resource, target.namespace, target.name, matches, query)
        fault = cluster.faults.hit(target, bearer.user)
        if fault and fault.latency:
            await cluster.clock.sleep(fault.latency)
        if fault and await exchange.fails(fault):
            return
        stop = asyncio.Event()
        cluster.watches.add(stop)
        try:
            async with asyncio.TaskGroup() as group:
                listener = group.create_task(_until_gone(exchange, cluster, stop))
                await exchange.begin()
                async for event in events(cluster.store, cluster.clock, wish, stop):
                    if not await exchange.line(event, cut=bool(fault and fault.cut)):
                        break
                else:
                    await exchange.end()
                listener.cancel()
        finally:
            cluster.watches.discard(stop)


def _readable(raw: bytes) -> Obj:
    """The object in a body that was refused, as far as there is one."""
    try:
        return decode_object(raw)
    except Refusal:
        return {}


def _known(found: Obj | None) -> Obj:
    if found is None:
        raise no_such_path()
    return found


async def _until_gone(exchange: Exchange, cluster: Cluster, stop: asyncio.Event) -> None:
    await exchange.gone()
    stop.set()
    cluster.store.wake()
