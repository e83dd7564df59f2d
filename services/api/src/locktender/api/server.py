"""The HTTP server inside of a service: signals and draining stay with the service."""

import asyncio
import json
import os
import socket
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import uvicorn
from litestar import Litestar

from locktender.contracts.kernel.errors import Unavailable

_BACKLOG = 2048


class _Server(uvicorn.Server):
    @contextmanager
    def capture_signals(self) -> Generator[None]:
        """The service has its own handlers."""
        yield


class HttpServer:
    """One uvicorn worker on a socket that is bound from the start.

    Raises:
        Unavailable: the address cannot be bound.
    """

    def __init__(self, app: Litestar, host: str, port: int, *, drain_seconds: float) -> None:
        self._socket = _bound(host, port)
        config = uvicorn.Config(
            app,  # pyright: ignore[reportArgumentType]  # the same protocol, spelt in other types
            loop="none",
            http="httptools",
            lifespan="off",
            ws="none",
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=False,
            timeout_keep_alive=75,
            timeout_graceful_shutdown=max(1, int(drain_seconds)),
            backlog=_BACKLOG,
        )
        self._server = _Server(config)

    @property
    def url(self) -> str:
        """Where it answers."""
        host, port = self._socket.getsockname()[:2]
        return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"

    async def serve(self) -> None:
        """Answer requests until `stop`, then finish those under way, within the drain time."""
        await self._server.serve(sockets=[self._socket])

    async def started(self) -> None:
        """Return once requests are answered."""
        while not self._server.started:  # noqa: ASYNC110 - the server has no event for it
            await asyncio.sleep(0.005)

    def stop(self) -> None:
        """Take no further connections, and let `serve` come to its end."""
        self._server.should_exit = True


def announce(path: Path, url: str) -> None:
    """Write `{"url": …}` so that it is there whole or not at all."""
    partial = path.with_name(f"{path.name}.{os.getpid()}")
    partial.write_text(json.dumps({"url": url}), encoding="utf-8")
    partial.replace(path)


def _bound(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # The protocol is named because asyncio turns Nagle's algorithm off only on sockets that say they are TCP.
    made = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        made.bind((host, port))
    except OSError as error:
        made.close()
        raise Unavailable(f"cannot listen on {host} port {port}: set LOCKTENDER_HTTP_PORT, or 0 for any") from error
    made.setblocking(False)  # noqa: FBT003 - the only spelling there is
    return made
