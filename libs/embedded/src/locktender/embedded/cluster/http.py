"""The cluster over ASGI: from a connection to an answer, with faults on the way."""

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, TypeAlias

from locktender.embedded.cluster.api import Answer, Call, serve
from locktender.embedded.cluster.auth import Bearer, authorize
from locktender.embedded.cluster.cluster import Cluster
from locktender.embedded.cluster.discovery import VERSION, core_versions, group, groups, kinds
from locktender.embedded.cluster.faults import Fault
from locktender.embedded.cluster.refusal import Refusal, internal, no_such_path, too_large
from locktender.embedded.cluster.request import (
    BODY_LIMIT,
    MUTATING,
    Target,
    decode_object,
    query_of,
    target_of,
)
from locktender.embedded.cluster.sandbox import KeepToken, serve_sandbox
from locktender.embedded.cluster.selectors import selection
from locktender.embedded.cluster.shapes import Obj
from locktender.embedded.cluster.watch import events, wanted

Message: TypeAlias = MutableMapping[str, Any]
Scope: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[Message]]
Send: TypeAlias = Callable[[Message], Awaitable[None]]
Drop: TypeAlias = Callable[[tuple[str, int]], None]
"""Closes the connection of a client at once, without an answer."""

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

    async def _route(self, exchange: "Exchange") -> None:
        path = exchange.path
        if path in _PROBES or path.startswith(("/livez/", "/readyz/")):
            await exchange.text("ok")
        elif path.rstrip("/") == "/version":
            await exchange.answer(Answer(200, VERSION))
        else:
            bearer = self._cluster.tokens.bearer(exchange.header(b"authorization"))
            await self._route_known(exchange, bearer)

    async def _route_known(self, exchange: "Exchange", bearer: Bearer) -> None:
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

    async def _sandbox(self, exchange: "Exchange", bearer: Bearer) -> None:
        body = decode_object(await exchange.body())
        answer = serve_sandbox(
            self._cluster, bearer, exchange.method, exchange.path, exchange.query, body, self._keep_token
        )
        await exchange.answer(answer)

    async def _resource(self, exchange: "Exchange", bearer: Bearer, target: Target) -> None:
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

    def _serve(self, exchange: "Exchange", target: Target, raw: bytes) -> Answer:
        content_type = exchange.header(b"content-type").partition(";")[0].strip().lower()
        agent = exchange.header(b"user-agent")
        return serve(self._cluster, Call(target, exchange.query, content_type, agent, raw))

    def _record(self, exchange: "Exchange", bearer: Bearer, target: Target, answer: Answer) -> None:
        if target.verb in MUTATING:
            self._cluster.ledger.record(target, bearer.user, exchange.query, answer.submitted, answer.code, answer.body)

    async def _watch(self, exchange: "Exchange", bearer: Bearer, target: Target) -> None:
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


async def _until_gone(exchange: "Exchange", cluster: Cluster, stop: asyncio.Event) -> None:
    await exchange.gone()
    stop.set()
    cluster.store.wake()


class Exchange:
    """One request and its answer."""

    def __init__(self, scope: Scope, receive: Receive, send: Send, drop: Drop) -> None:
        self.method: str = scope["method"]
        self.path: str = scope["path"]
        self.query = query_of(scope["query_string"])
        self._scope = scope
        self._receive = receive
        self._send = send
        self._drop = drop
        self._started = False

    def header(self, name: bytes) -> str:
        """A request header by its lower-case name, "" when it is missing."""
        headers: list[tuple[bytes, bytes]] = self._scope["headers"]
        return next((value.decode("latin-1") for key, value in headers if key == name), "")

    async def body(self) -> bytes:
        """The whole request body.

        Raises:
            Refusal: 413 when it is larger than the limit.
        """
        raw = bytearray()
        more = True
        while more:
            message = await self._receive()
            raw += message.get("body", b"")
            if len(raw) > BODY_LIMIT:
                raise too_large(BODY_LIMIT)
            more = message["type"] == "http.request" and message.get("more_body", False)
        return bytes(raw)

    async def gone(self) -> None:
        """Return when the client has closed the connection."""
        while (await self._receive())["type"] != "http.disconnect":
            pass

    async def answer(self, answer: Answer, *, cut: bool = False) -> None:
        """Send a complete answer, or with `cut` its first half."""
        raw = json.dumps(answer.body, separators=(",", ":")).encode() + b"\n"
        await self._start(answer.code, b"application/json", answer.headers, len(raw))
        if cut:
            # Returning with the body unfinished makes the server close the connection after what was sent.
            await self._send({"type": "http.response.body", "body": raw[: len(raw) // 2], "more_body": True})
        else:
            await self._send({"type": "http.response.body", "body": raw})

    async def refuse(self, refusal: Refusal) -> None:
        """Answer with a refusal; when the answer has begun already, the connection closes instead."""
        if not self._started:
            await self.answer(Answer(refusal.code, refusal.status(), refusal.headers))

    async def text(self, said: str) -> None:
        raw = said.encode()
        await self._start(200, b"text/plain; charset=utf-8", {}, len(raw))
        await self._send({"type": "http.response.body", "body": raw})

    async def fails(self, fault: Fault) -> bool:
        """Let a fault take the place of the answer; False when it does not.

        Raises:
            Refusal: the status that the fault asks for.
        """
        refusal = fault.refusal()
        if refusal is not None:
            raise refusal
        if fault.drop:
            self._drop(self._scope["client"])
            await self.gone()
        return fault.drop

    async def begin(self) -> None:
        """Start a stream of lines."""
        await self._start(200, b"application/json", {}, None)

    async def line(self, event: Obj, *, cut: bool) -> bool:
        """Send one line. With `cut`, half of it, and False."""
        raw = json.dumps(event, separators=(",", ":")).encode() + b"\n"
        part = raw[: len(raw) // 2] if cut else raw
        await self._send({"type": "http.response.body", "body": part, "more_body": True})
        return not cut

    async def end(self) -> None:
        await self._send({"type": "http.response.body", "body": b""})

    async def _start(self, code: int, media: bytes, headers: dict[str, str], length: int | None) -> None:
        self._started = True
        sent = [(b"content-type", media), (b"cache-control", b"no-cache, private")]
        sent += [(name.encode(), value.encode("latin-1", "replace")) for name, value in headers.items()]
        if length is not None:
            sent.append((b"content-length", str(length).encode()))
        await self._send({"type": "http.response.start", "status": code, "headers": sent})
