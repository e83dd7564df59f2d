"""The cluster as a running HTTPS server."""

import asyncio
import contextlib
import logging
import socket
import struct
from collections.abc import AsyncGenerator, Generator
from dataclasses import dataclass
from pathlib import Path

from uvicorn import Config, Server
from uvicorn.protocols.http.h11_impl import H11Protocol

from locktender.embedded.cluster.auth import ADMIN, Bearer, bearer_from, digest_of
from locktender.embedded.cluster.clock import LoopClock
from locktender.embedded.cluster.cluster import Cluster
from locktender.embedded.cluster.controllers.loop import ControllerLoop
from locktender.embedded.cluster.controllers.pace import Pace
from locktender.embedded.cluster.http import ClusterApp
from locktender.embedded.cluster.journal import Journal
from locktender.embedded.cluster.state import HOST, StateDirectory

_GRACE = 2
# Longer than clients keep idle connections, so that none is closed under a request that is just being sent.
_KEEP_ALIVE = 120
# Cut answers are an ordinary thing here, and uvicorn would report each as an error of the application.
_quiet = logging.getLogger(f"{__name__}.connections")
_quiet.setLevel(logging.CRITICAL)
_START_DEADLINE = 20.0
_LINGER = 0.3


@dataclass(frozen=True, slots=True)
class Running:
    """A cluster that answers. `token` and the kubeconfig are secrets."""

    cluster: Cluster
    server: str
    token: str
    authority: bytes
    kubeconfig: Path


@contextlib.asynccontextmanager
async def running_cluster(
    directory: Path,
    *,
    port: int = 0,
    cluster: Cluster | None = None,
    pace: Pace | None = None,
    persist: bool = False,
) -> AsyncGenerator[Running, None]:
    """Serve a cluster for as long as the context lasts; it answers when the context is entered.

    Args:
        directory: private state directory, created when missing.
        port: 0 for the port of last time.
        cluster: a cluster of one's own, such as one with another clock.
        pace: how fast the controllers make things happen.
        persist: go on with the objects that were saved in `directory`, and save all changes there.

    Raises:
        JournalDamaged: the saved objects cannot be read.
        StateInUse: another process serves from this directory.
        OSError: the port is taken.
        TimeoutError: the server did not come up.
    """
    cluster = cluster or Cluster()
    state = StateDirectory(directory)
    with state.held(), contextlib.closing(Journal(state.journal_file)) as journal:
        if persist:
            saved = journal.load()
            if saved is not None:
                cluster.restore(saved)
            journal.follow(cluster.store)
        # Clients check certificates by the time of the machine, whatever clock the cluster runs on.
        certificates, token = state.certificates(LoopClock()), state.admin_token()
        cluster.tokens.add(digest_of(token), Bearer(ADMIN, admin=True))
        for digest, entry in state.tokens().items():
            cluster.tokens.add(digest, bearer_from(entry, cluster.clock))
        listener = state.listen(port)
        address = f"https://{HOST}:{listener.getsockname()[1]}"
        kubeconfig = state.write_kubeconfig(address, certificates.authority, token)
        running = Running(cluster, address, token, certificates.authority, kubeconfig)
        failure: Exception | None = None
        async with asyncio.TaskGroup() as group:
            server = _Server(state, running, listener)
            serving = group.create_task(server.serve(sockets=[listener]))
            controllers = group.create_task(ControllerLoop(cluster, pace or Pace()).run())
            try:
                async with asyncio.timeout(_START_DEADLINE):
                    await server.up.wait()
                yield running
            except Exception as fault:  # noqa: BLE001 - raised again below, outside the group, as what it is
                failure = fault
            finally:
                server.should_exit = True
                controllers.cancel()
                await asyncio.wait([serving])
        if failure is not None:
            raise failure


class _Server(Server):
    """uvicorn without its signal handlers, which says when it is up and ends watches before it closes."""

    def __init__(self, state: StateDirectory, running: Running, listener: socket.socket) -> None:
        connections: dict[tuple[str, int], asyncio.Transport] = {}

        def drop(client: tuple[str, int], *, reset: bool) -> None:
            _abort(connections, client, reset=reset)

        app = ClusterApp(
            running.cluster,
            server=f"{HOST}:{listener.getsockname()[1]}",
            drop=drop,
            keep_token=state.keep_token,
        )
        super().__init__(
            Config(
                app,
                http=_protocol(connections),
                ws="none",
                lifespan="off",
                loop="none",
                log_config=None,
                access_log=False,
                server_header=False,
                ssl_certfile=str(state.certificate_file),
                ssl_keyfile=str(state.key_file),
                timeout_graceful_shutdown=_GRACE,
                timeout_keep_alive=_KEEP_ALIVE,
            )
        )
        self.up = asyncio.Event()
        self._connections = connections
        self._cluster = running.cluster

    @contextlib.contextmanager
    def capture_signals(self) -> Generator[None, None, None]:
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets=sockets)
        self.up.set()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._cluster.end_watches()
        async with asyncio.TaskGroup() as group:
            group.create_task(self._cut_off())
            await super().shutdown(sockets=sockets)

    async def _cut_off(self) -> None:
        # A client that keeps an idle connection would otherwise hold up the end for as long as TLS waits for its
        # goodbye. This is time of the machine, whatever clock the cluster runs on.
        for _ in range(10):
            if not self._connections:
                return
            await asyncio.sleep(_LINGER / 10)
        for transport in tuple(self._connections.values()):
            transport.abort()


def _protocol(connections: dict[tuple[str, int], asyncio.Transport]) -> type[asyncio.Protocol]:
    """The HTTP protocol that also notes the transport of each client, so that a fault can close it."""

    class _Noted(H11Protocol):
        def connection_made(self, transport: asyncio.Transport) -> None:  # pyright: ignore[reportIncompatibleMethodOverride]  # uvicorn declares the same narrowing
            super().connection_made(transport)
            self.logger = _quiet
            self._client: tuple[str, int] = tuple(transport.get_extra_info("peername")[:2])
            connections[self._client] = transport

        def connection_lost(self, exc: Exception | None) -> None:
            connections.pop(self._client, None)
            super().connection_lost(exc)

    return _Noted


def _abort(connections: dict[tuple[str, int], asyncio.Transport], client: tuple[str, int], *, reset: bool) -> None:
    transport = connections.get(client)
    if transport is None:
        return
    if reset:
        # Closing without lingering makes the kernel send a reset instead of an orderly end.
        transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    transport.abort()
