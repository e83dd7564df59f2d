"""A state backend of Terraform's `http` kind that keeps one state in memory, and a port that keeps what runs report."""

import asyncio
import base64
import json
import threading
from collections.abc import Generator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from locktender.contracts.kernel.errors import Unavailable
from locktender.contracts.stacks.wire import ArtifactName, Done, StateBackend


class HttpState:
    """What the backend holds, and what it was asked for."""

    def __init__(self, user: str, password: str) -> None:
        self.expected = "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()
        self.state: bytes | None = None
        self.lock: dict[str, Any] | None = None
        self.asked: list[str] = []
        self.address = ""

    @property
    def backend(self) -> StateBackend:
        """How a run is told of it."""
        return StateBackend(
            address=f"{self.address}/state",
            lock_address=f"{self.address}/state/lock",
            unlock_address=f"{self.address}/state/unlock",
        )

    @property
    def resources(self) -> list[str]:
        """The resources in the state, as type.name."""
        held: dict[str, Any] = json.loads(self.state) if self.state else {}
        resources: list[dict[str, str]] = held.get("resources", [])
        return sorted(f"{each['type']}.{each['name']}" for each in resources)


class _Handler(BaseHTTPRequestHandler):
    held: HttpState

    def do_GET(self) -> None:
        self.held.asked.append(f"GET {self.path}")
        if self.headers.get("Authorization") != self.held.expected:
            self._answer(401)
        elif self.held.state is None:
            self._answer(404)
        else:
            self._answer(200, self.held.state)

    def do_POST(self) -> None:
        self.held.asked.append(f"POST {self.path.partition('?')[0]}")
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if self.headers.get("Authorization") != self.held.expected:
            self._answer(401)
        elif self.path.endswith("/unlock"):
            self.held.lock = None
            self._answer(200)
        elif self.path.endswith("/lock"):
            self._take(json.loads(body))
        else:
            self.held.state = body
            self._answer(200)

    def _take(self, lock: dict[str, Any]) -> None:
        if self.held.lock is not None:
            self._answer(423, json.dumps(self.held.lock).encode())
            return
        self.held.lock = lock
        self._answer(200)

    def _answer(self, code: int, body: bytes = b"") -> None:
        self.send_response(code)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *_: object) -> None:  # noqa: A002 - the name is not ours
        """Silence."""


@contextmanager
def http_state(user: str, password: str) -> Generator[HttpState]:
    """Served on a port of its own until the end."""
    state = HttpState(user, password)

    class Handler(_Handler):
        held = state

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    state.address = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield state
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


class KeptPort:
    """A run's port to nowhere: it keeps everything, and refuses the artifacts named in `broken`."""

    def __init__(self) -> None:
        self.cancelled = asyncio.Event()
        self.lost = asyncio.Event()
        self.logged = b""
        self.artifacts: dict[ArtifactName, bytes] = {}
        self.order: list[str] = []
        self.broken: set[str] = set()
        self.acknowledged = 0

    @property
    def text(self) -> str:
        """The log so far."""
        return self.logged.decode()

    async def log(self, chunk: bytes) -> None:
        if "log" in self.broken:
            raise Unavailable("the log is not there")
        self.logged += chunk

    async def put_artifact(self, name: ArtifactName, data: bytes) -> None:
        if name in self.broken:
            raise Unavailable(f"{name} cannot be kept")
        self.order.append(name)
        self.artifacts[name] = data

    async def get_artifact(self, name: ArtifactName) -> bytes:
        if name not in self.artifacts:
            raise Unavailable(f"{name} is not there")
        return self.artifacts[name]

    async def acknowledge_cancel(self) -> None:
        self.acknowledged += 1

    async def done(self, done: Done) -> None:
        """Nobody waits for it here."""
