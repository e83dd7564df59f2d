"""One HTTP exchange: reading the request, and answering it whole, in lines, in part or not at all."""

import json
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, TypeAlias

from locktender.embedded.cluster.api import Answer
from locktender.embedded.cluster.faults import Fault
from locktender.embedded.cluster.refusal import Refusal, too_large
from locktender.embedded.cluster.request import BODY_LIMIT, query_of
from locktender.embedded.cluster.shapes import Obj

Message: TypeAlias = MutableMapping[str, Any]
Scope: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[Message]]
Send: TypeAlias = Callable[[Message], Awaitable[None]]
Drop: TypeAlias = Callable[[tuple[str, int]], None]
"""Closes the connection of a client at once, without an answer."""


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
