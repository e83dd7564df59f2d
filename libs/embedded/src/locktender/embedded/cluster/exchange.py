"""One HTTP exchange: reading the request, and answering it whole, in lines, in part or not at all."""

import json
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, Protocol, TypeAlias

from locktender.contracts.kernel.clock import Clock
from locktender.embedded.cluster.calls import Answer
from locktender.embedded.cluster.faults import Fault
from locktender.embedded.cluster.refusal import Refusal, too_large
from locktender.embedded.cluster.request import BODY_LIMIT, query_of
from locktender.embedded.cluster.shapes import Obj

Message: TypeAlias = MutableMapping[str, Any]
Scope: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[Message]]
Send: TypeAlias = Callable[[Message], Awaitable[None]]


class Drop(Protocol):
    """Closes the connection of a client at once, without an answer; with `reset`, by a TCP reset."""

    def __call__(self, client: tuple[str, int], /, *, reset: bool) -> None: ...


_PORTION = 64


class Exchange:
    """One request and its answer."""

    def __init__(self, scope: Scope, receive: Receive, send: Send, drop: Drop, clock: Clock) -> None:
        self.method: str = scope["method"]
        self.path: str = scope["path"]
        self.query = query_of(scope["query_string"])
        self._scope = scope
        self._receive = receive
        self._send = send
        self._drop = drop
        self._clock = clock
        self._started = False
        self._rate = 0.0

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
        headers = {name: value for name, value in answer.headers.items() if name != "content-type"}
        media = answer.headers.get("content-type", "application/json").encode()
        await self._start(answer.code, media, headers, len(raw))
        if cut:
            # Returning with the body unfinished makes the server close the connection after what was sent.
            await self._body(raw[: len(raw) // 2])
        else:
            await self._body(raw)
            await self.end()

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
        if fault.silent:
            await self.begin()
            await self.gone()
        if fault.drop or fault.reset:
            self._drop(self._scope["client"], reset=fault.reset)
            await self.gone()
        return fault.drop or fault.reset or fault.silent

    def slow_down(self, rate: float) -> None:
        """Send the answer at `rate` bytes per second from now on; 0 is as fast as it goes."""
        self._rate = rate

    async def begin(self) -> None:
        """Start a stream of lines."""
        await self._start(200, b"application/json", {}, None)

    async def line(self, event: Obj, *, cut: bool) -> bool:
        """Send one line. With `cut`, half of it, and False."""
        raw = json.dumps(event, separators=(",", ":")).encode() + b"\n"
        await self._body(raw[: len(raw) // 2] if cut else raw)
        return not cut

    async def _body(self, raw: bytes) -> None:
        portion = _PORTION if self._rate else max(1, len(raw))
        for start in range(0, len(raw), portion):
            await self._send({"type": "http.response.body", "body": raw[start : start + portion], "more_body": True})
            if self._rate:
                await self._clock.sleep(portion / self._rate)

    async def end(self) -> None:
        """Finish the answer."""
        await self._send({"type": "http.response.body", "body": b""})

    async def _start(self, code: int, media: bytes, headers: dict[str, str], length: int | None) -> None:
        self._started = True
        sent = [(b"content-type", media), (b"cache-control", b"no-cache, private")]
        sent += [(name.encode(), value.encode("latin-1", "replace")) for name, value in headers.items()]
        if length is not None:
            sent.append((b"content-length", str(length).encode()))
        await self._send({"type": "http.response.start", "status": code, "headers": sent})
