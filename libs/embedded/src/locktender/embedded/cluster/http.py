"""The cluster over ASGI: from a connection to an answer, with faults on the way."""

import asyncio
import contextlib
import logging
from collections.abc import AsyncGenerator, AsyncIterator
from dataclasses import replace

from locktender.embedded.cluster.api import serve
from locktender.embedded.cluster.auth import Bearer, authorize
from locktender.embedded.cluster.calls import Answer, Call, warning
from locktender.embedded.cluster.cluster import Cluster
from locktender.embedded.cluster.discovery import VERSION
from locktender.embedded.cluster.exchange import Drop, Exchange, Receive, Scope, Send
from locktender.embedded.cluster.extras import discover, serve_extra
from locktender.embedded.cluster.faults import Fault
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
from locktender.embedded.cluster.tables.present import presented, presented_events
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
        exchange = Exchange(scope, receive, send, self._drop, self._cluster.clock)
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
            case ["api" | "apis"] | ["api" | "apis", _] | ["apis", _, _]:
                await exchange.answer(discover(registry, self._server, steps, exchange.header(b"accept")))
            case ["openapi", *_] | ["apis", "authorization.k8s.io" | "authentication.k8s.io", *_]:
                await exchange.answer(await serve_extra(self._cluster, bearer, exchange))
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
            fault = await self._hit(exchange, bearer, target)
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
        await exchange.answer(self._shown(exchange, target, answer), cut=bool(fault and fault.cut))

    def _serve(self, exchange: Exchange, target: Target, raw: bytes) -> Answer:
        content_type = exchange.header(b"content-type").partition(";")[0].strip().lower()
        agent = exchange.header(b"user-agent")
        answer = serve(self._cluster, Call(target, exchange.query, content_type, agent, raw))
        if target.verb in ("create", "update", "patch") and answer.code in (200, 201):
            told = self._cluster.gate.warnings(target.resource, target.namespace, answer.body)
            said = [text for text in (answer.headers.get("warning"), warning(told).get("warning")) if text]
            return replace(answer, headers=answer.headers | ({"warning": ", ".join(said)} if said else {}))
        return answer

    def _shown(self, exchange: Exchange, target: Target, answer: Answer) -> Answer:
        how = exchange.header(b"accept"), self._cluster.clock, exchange.query.get("includeObject", "Metadata")
        return presented(answer, target.resource, *how)

    def _shown_events(
        self, exchange: Exchange, target: Target, stream: AsyncGenerator[Obj, None]
    ) -> AsyncGenerator[Obj, None]:
        how = exchange.header(b"accept"), self._cluster.clock, exchange.query.get("includeObject", "Metadata")
        return presented_events(stream, target.resource, *how)

    def _record(self, exchange: Exchange, bearer: Bearer, target: Target, answer: Answer) -> None:
        if target.verb in MUTATING:
            self._cluster.ledger.record(target, bearer.user, exchange.query, answer.submitted, answer.code, answer.body)

    async def _watch(self, exchange: Exchange, bearer: Bearer, target: Target) -> None:
        query, cluster = exchange.query, self._cluster
        matches = selection(query.get("labelSelector", ""), query.get("fieldSelector", ""))
        wish = wanted(target.resource, target.namespace, target.name, matches, query)
        fault = await self._hit(exchange, bearer, target)
        if fault and not fault.events and await exchange.fails(fault):
            return
        stop = asyncio.Event()
        cluster.watches.add(stop)
        try:
            async with asyncio.TaskGroup() as group:
                listener = group.create_task(_until_gone(exchange, cluster, stop))
                await exchange.begin()
                found = events(cluster.store, cluster.clock, wish, stop)
                async with contextlib.aclosing(self._shown_events(exchange, target, found)) as stream:
                    if not (fault and await self._disturbed(exchange, stream, fault, stop)):
                        async for event in stream:
                            await exchange.line(event, cut=False)
                        await exchange.end()
                listener.cancel()
        finally:
            cluster.watches.discard(stop)

    async def _hit(self, exchange: Exchange, bearer: Bearer, target: Target) -> Fault | None:
        """The fault that decides about a request, after the time that it costs."""
        fault = self._cluster.faults.hit(target, bearer.user)
        if fault and fault.latency:
            await self._cluster.clock.sleep(fault.latency)
        exchange.slow_down(fault.trickle if fault else 0.0)
        return fault

    async def _disturbed(
        self, exchange: Exchange, stream: AsyncIterator[Obj], fault: Fault, stop: asyncio.Event
    ) -> bool:
        """Send the events that a fault lets through, and let it happen; False when the stream is to go on."""
        if not (fault.events or fault.cut or fault.ends):
            return False
        left = fault.events
        # `ends` alone ends it before its first event.
        async for event in stream if left or fault.cut else _none():
            if not await exchange.line(event, cut=not left):
                return True
            left -= 1
            if not left and not fault.cut:
                break
        if fault.silent:
            await stop.wait()
        elif fault.ends:
            await exchange.end()
        elif not await exchange.fails(fault):
            return False
        return True


def _readable(raw: bytes) -> Obj:
    """The object in a body that was refused, as far as there is one."""
    try:
        return decode_object(raw)
    except Refusal:
        return {}


async def _none() -> AsyncIterator[Obj]:
    for event in list[Obj]():
        yield event


async def _until_gone(exchange: Exchange, cluster: Cluster, stop: asyncio.Event) -> None:
    await exchange.gone()
    stop.set()
    cluster.store.wake()
