"""A small HTTP server that answers what it was told to, for clients that meet answers which are hard to bring about."""

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any
from urllib.parse import urlsplit

_SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class Asked:
    """A request that came."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        """Its body."""
        return json.loads(self.body)


@dataclass(frozen=True, slots=True)
class Say:
    """An answer: JSON, or bytes as they are."""

    value: Any = None
    status: int = 200
    kind: str = "application/json"

    def data(self) -> bytes:
        """Its body."""
        return self.value if isinstance(self.value, bytes) else json.dumps(self.value).encode()


def stream(*frames: str) -> Say:
    """An event stream that says these frames and then breaks off."""
    return Say("".join(f"{frame}\n\n" for frame in frames).encode(), kind="text/event-stream")


@dataclass(slots=True)
class ScriptedApi:
    """What it answers by method and path, one answer after the other, the last one for ever; else 404."""

    answers: dict[str, list[Say]]
    asked: list[Asked] = field(default_factory=list[Asked])
    url: str = ""

    def requests(self, method: str, path: str) -> list[Asked]:
        """Those that came for one address."""
        return [each for each in self.asked if (each.method, each.path) == (method, path)]

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection, one request."""
        try:
            async with asyncio.timeout(_SECONDS):
                asked = await _read(reader)
                self.asked.append(asked)
                answers = self.answers.get(f"{asked.method} {asked.path}") or [Say({"title": "Not found"}, 404)]
                answer = answers.pop(0) if len(answers) > 1 else answers[0]
                data = answer.data()
                writer.write(
                    f"HTTP/1.1 {answer.status} {HTTPStatus(answer.status).phrase}\r\nContent-Type: {answer.kind}\r\n"
                    f"Content-Length: {len(data)}\r\nConnection: close\r\n\r\n".encode()
                )
                writer.write(data)
                await writer.drain()
        finally:
            writer.close()


@asynccontextmanager
async def scripted_api(answers: dict[str, list[Say]]) -> AsyncGenerator[ScriptedApi]:
    """The server, as long as the block lasts."""
    api = ScriptedApi(answers)
    server = await asyncio.start_server(api.serve, "127.0.0.1", 0)
    async with server:
        api.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        yield api


async def _read(reader: asyncio.StreamReader) -> Asked:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
    method, target, _ = head[0].split(" ")
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in head[1:] if line)}
    body = await reader.readexactly(int(headers.get("content-length", "0")))
    return Asked(method, urlsplit(target).path, headers, body)
