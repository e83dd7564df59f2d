"""A small HTTP server that answers as the run protocol does, and in the ways in which a network goes wrong."""

import json
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

from locktender.runtime.runs.keys import seal_secrets

Trouble = Callable[[str, str], "int | str | None"]
"""Given method and path: a status to answer with instead, `drop` to do it and say nothing, None for no trouble."""

_METHODS = ("do_GET", "do_POST", "do_PUT")


@dataclass
class RunWireServer:
    """What the server was told, and what it says of its one run."""

    token: str
    context: dict[str, Any] = field(default_factory=dict[str, Any])
    secrets: dict[str, Any] = field(default_factory=dict[str, Any])
    status: str = "running"
    log: bytearray = field(default_factory=bytearray)
    artifacts: dict[str, bytes] = field(default_factory=dict[str, bytes])
    done: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    asked: list[str] = field(default_factory=list[str])
    most: int | None = None
    """Bytes of a log request that are taken, at most."""
    trouble: Trouble = lambda _method, _path: None
    url: str = ""

    def count(self, asked: str) -> int:
        """How often `METHOD /name` was asked for."""
        return self.asked.count(asked)

    def answer(self, method: str, path: str, query: dict[str, list[str]], body: bytes) -> tuple[int, bytes]:
        """Do what a request asks for."""
        said = self._said(method, path, query, body)
        if said is not None:
            return 200, said
        name = path.removeprefix("artifacts/")
        if method == "PUT":
            self.artifacts[name] = body
            return 204, b""
        kept = self.artifacts.get(name)
        return problem(404, "not-found", "there is nothing at this address") if kept is None else (200, kept)

    def _said(self, method: str, path: str, query: dict[str, list[str]], body: bytes) -> bytes | None:
        match method, path:
            case "GET", "context":
                return self._context(query["key"][0])
            case "POST", "acknowledging-cancel":
                self.status = "cancelling"
            case "POST", "log":
                return json.dumps({"end": self._keep(int(query["offset"][0]), body)}).encode()
            case "POST", "done":
                self.done.append(json.loads(body))
                self.status = "success"
            case "GET", "status":
                pass
            case _:
                return None
        return json.dumps({"status": self.status}).encode()

    def _keep(self, offset: int, body: bytes) -> int:
        fresh = body[max(len(self.log) - offset, 0) :]
        self.log += fresh if self.most is None else fresh[: self.most]
        return len(self.log)

    def _context(self, key: str) -> bytes:
        sealed = seal_secrets(
            json.dumps(self.secrets).encode(), key, workspace=self.context["workspace"],
            run_id=self.context["runId"], epoch=self.context["epoch"],
        )  # fmt: skip
        return json.dumps({**self.context, "runId": str(self.context["runId"]), "sealed": sealed}).encode()


class _Handler(BaseHTTPRequestHandler):
    api: RunWireServer
    protocol_version = "HTTP/1.1"

    def handle_request(self) -> None:
        """Answer, or be in trouble."""
        parts = urlsplit(self.path)
        name = parts.path.split("/", 4)[4]
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.api.asked.append(f"{self.command} /{name}")
        trouble = self.api.trouble(self.command, name)
        if self.headers.get("Authorization") != f"Bearer {self.api.token}" or self.api.status == "success":
            self._answer(*problem(401, "unauthenticated", "no valid run token"))
        elif isinstance(trouble, int):
            slug = "lease-lost" if trouble == HTTPStatus.CONFLICT else "unavailable"
            self._answer(*problem(trouble, slug, "in trouble"))
        else:
            status, answer = self.api.answer(self.command, name, parse_qs(parts.query), body)
            if trouble == "drop":
                self.close_connection = True
            else:
                self._answer(status, answer)

    def _answer(self, status: int, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_request(self, code: int | str = "-", size: int | str = "-") -> None:
        """Say nothing."""


def problem(status: int, slug: str, detail: str) -> tuple[int, bytes]:
    """A problem document."""
    return status, json.dumps({"type": f"urn:locktender:problem:{slug}", "detail": detail}).encode()


@contextmanager
def run_wire_server(token: str, **stated: Any) -> Generator[RunWireServer]:
    """The server, for as long as the block lasts."""
    api = RunWireServer(token, **stated)
    handler = type("Handler", (_Handler,), {"api": api, **dict.fromkeys(_METHODS, _Handler.handle_request)})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        server.daemon_threads = True
        thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
        thread.start()
        api.url = f"http://127.0.0.1:{server.server_address[1]}"
        try:
            yield api
        finally:
            server.shutdown()
            thread.join(5)
