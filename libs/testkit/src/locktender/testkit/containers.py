"""The middle rung of the ladder: servers in containers, where a Docker engine answers."""

import importlib.util
import os
import socket
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

from locktender.contracts.kernel.permissions import IDENTITIES
from locktender.embedded.nats_config import Listeners, embedded_config
from locktender.embedded.nkey import new_user_seed, user_public_key

_POSTGRES_IMAGE = "postgres:18-alpine"
_NATS_IMAGE = "nats:2.12-alpine"
_USER = "locktender"
_DOCKER_PORT = 2375


def docker_answers() -> bool:
    """Whether a Docker engine answers a ping within a second, and testcontainers is installed to use it."""
    if importlib.util.find_spec("testcontainers") is None:
        return False
    named = os.environ.get("DOCKER_HOST")
    defaults = ("/var/run/docker.sock", Path.home() / ".docker" / "run" / "docker.sock")
    return any(_pings(host) for host in ([named] if named else [f"unix://{path}" for path in defaults]))


def _pings(host: str) -> bool:
    address = urlsplit(host)
    family = socket.AF_UNIX if address.scheme == "unix" else socket.AF_INET
    target = address.path if address.scheme == "unix" else (address.hostname, address.port or _DOCKER_PORT)
    with socket.socket(family, socket.SOCK_STREAM) as engine:
        engine.settimeout(1)
        try:
            engine.connect(target)
            if os.environ.get("DOCKER_TLS_VERIFY"):
                return True  # it listens; whether it likes our certificates is told by the first container
            engine.sendall(b"GET /_ping HTTP/1.0\r\nHost: docker\r\n\r\n")
            return engine.recv(64).split(b" ")[1:2] == [b"200"]
        except OSError:
            return False


@contextmanager
def postgres_container() -> Generator[str]:
    """A PostgreSQL without durability. Yields the address of its superuser."""
    from testcontainers.core.container import DockerContainer  # noqa: PLC0415 - slow, and optional
    from testcontainers.core.wait_strategies import LogMessageWaitStrategy  # noqa: PLC0415 - as above

    container = (
        DockerContainer(_POSTGRES_IMAGE)
        .with_envs(POSTGRES_USER=_USER, POSTGRES_PASSWORD=_USER, POSTGRES_DB=_USER)
        .with_command("postgres -c fsync=off -c full_page_writes=off -c max_connections=200")
        .with_exposed_ports(5432)
        # The first time it says so it only serves its own initialisation.
        .waiting_for(LogMessageWaitStrategy("database system is ready to accept connections", times=2))
    )
    with container as running:
        where = f"{running.get_container_host_ip()}:{running.get_exposed_port(5432)}"
        yield f"postgresql://{_USER}:{_USER}@{where}/{_USER}"


@contextmanager
def nats_container(seeds: Path) -> Generator[tuple[str, dict[str, Path]]]:
    """A NATS server with the rights of the product. Yields its address and the seed files, written to `seeds`."""
    from testcontainers.core.container import DockerContainer  # noqa: PLC0415 - slow, and optional
    from testcontainers.core.wait_strategies import LogMessageWaitStrategy  # noqa: PLC0415 - as above

    keys = {name: new_user_seed() for name in (*IDENTITIES, "admin")}
    files = {name: seeds / f"{name}.nk" for name in keys}
    for name, seed in keys.items():
        files[name].touch(mode=0o600)
        files[name].write_text(seed, encoding="utf-8")
    config = embedded_config(
        "locktender-test",
        Listeners(4222, 8222, host="0.0.0.0"),  # noqa: S104 - inside its own container
        Path("/data"),
        {name: user_public_key(seed) for name, seed in keys.items()},
        sync="2m",
        limit_bytes=1024**3,
    )
    container = (
        DockerContainer(_NATS_IMAGE)
        .with_copy_into_container(config.encode(), "/etc/locktender.conf")
        .with_command("-c /etc/locktender.conf")
        .with_exposed_ports(4222)
        .waiting_for(LogMessageWaitStrategy("Server is ready"))
    )
    with container as running:
        yield f"nats://{running.get_container_host_ip()}:{running.get_exposed_port(4222)}", files
