"""The embedded PostgreSQL: one server on loopback, a direct child of this process, with passwords and checksums."""

import asyncio
import secrets
import signal
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self
from urllib.parse import quote

from locktender.embedded import pg_binaries, ports
from locktender.embedded.account import serving_account
from locktender.embedded.child import Child, ChildSpec, in_thread
from locktender.embedded.errors import EmbeddedError
from locktender.embedded.pg_binaries import PostgresBinaries
from locktender.embedded.pg_cluster import STOP, Cluster, server_env, settle
from locktender.embedded.state import StateFolder

_STEP = "postgres start"
_ATTEMPTS = 8
_LOGIN_SECONDS = 10
# Commits still reach the kernel one by one, so that `kill -9` of the server loses none of them.
_FAST = ("fsync=off", "full_page_writes=off")
# A log is no place for data: neither the text of a failed statement nor the row that broke a constraint.
_ALWAYS = (
    "cluster_name=locktender",
    "log_checkpoints=off",
    "log_error_verbosity=terse",
    "log_min_error_statement=panic",
    "log_timezone=UTC",
    "timezone=UTC",
)


@dataclass(frozen=True, slots=True)
class PostgresSettings:
    """How the embedded PostgreSQL runs.

    Attributes:
        user: its superuser, authenticated by a password made at the first start.
        database: created when missing.
        fast: do not wait for the disk. For tests: a crash of the machine may destroy the data; `kill -9` does not.
        options: further server settings, each as `name=value`.
        start_timeout: seconds for a start, which after a crash includes recovery.
        end_with_parent: stop the server when this process dies (Linux). Otherwise it stays until the next start.
        bin_dir: another `bin` folder than that of the installed package.
    """

    user: str = "locktender"
    database: str = "locktender"
    max_connections: int = 200
    shared_buffers: str = "128MB"
    fast: bool = False
    options: tuple[str, ...] = ()
    start_timeout: float = 120.0
    end_with_parent: bool = True
    bin_dir: Path | None = None


@dataclass(frozen=True, slots=True)
class PostgresAddress:
    """Where a server listens and how to log in."""

    host: str
    port: int
    user: str
    password: str = field(repr=False)
    database: str

    def dsn(self, *, user: str | None = None, database: str | None = None, password: str | None = None) -> str:
        """A `postgresql://` address. Another `user` needs its own `password`, or has none."""
        secret = password if user is not None else (password or self.password)
        login = quote(user or self.user, safe="") + (f":{quote(secret, safe='')}" if secret else "")
        return f"postgresql://{login}@{self.host}:{self.port}/{quote(database or self.database, safe='')}"


class PostgresSupervisor:
    """Owns the PostgreSQL of one state folder.

    Guarantees: `start` returns only when *this* server accepts a login with *our* password; every committed row
    survives `kill -9` of the server or of this process, and (unless `fast`) a crash of the machine; data is never
    deleted; two supervisors never share a state folder. It does not restart a server that crashed: `wait` returns,
    and `start` may be called again. As root the server runs as the owner of the state folder, or as `nobody`.

    The log is `<state_dir>/postgres.log`; the rest is in `<state_dir>/postgres/`.
    """

    def __init__(self, state_dir: Path, *, settings: PostgresSettings | None = None) -> None:
        self._root = state_dir.resolve()
        self._settings = settings or PostgresSettings()
        self._state = StateFolder(self._root / "postgres")
        self._child: Child | None = None
        self._address: PostgresAddress | None = None

    async def start(self) -> PostgresAddress:
        """Start the server and return its address; when it already runs, only the latter.

        Raises:
            EmbeddedError: it cannot be started; the message holds the end of its log.
        """
        if self._child is not None and self._child.alive and self._address is not None:
            return self._address
        self._state.acquire(_STEP)
        try:
            return await self._start()
        except BaseException:
            await self.stop()
            raise

    async def stop(self) -> None:
        """Fast shutdown, then harder ones; the state folder is free afterwards. Safe to call at any time."""
        try:
            if self._child is not None:
                await self._child.stop()
        finally:
            self._child = None
            self._state.release()

    async def wait(self) -> int:
        """Return the exit code once the server has ended, for whatever reason.

        Raises:
            EmbeddedError: it was not started.
        """
        return await self._running().wait()

    @property
    def pid(self) -> int:
        """Process id of the server.

        Raises:
            EmbeddedError: it was not started.
        """
        return self._running().pid

    @property
    def address(self) -> PostgresAddress:
        """The address that `start` returned.

        Raises:
            EmbeddedError: it was not started.
        """
        if self._address is None:
            raise EmbeddedError("postgres", "it was not started", "Call start first.")
        return self._address

    def dsn(self, *, user: str | None = None, database: str | None = None, password: str | None = None) -> str:
        """`address.dsn(…)`."""
        return self.address.dsn(user=user, database=database, password=password)

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop()

    def _running(self) -> Child:
        if self._child is None:
            raise EmbeddedError("postgres", "it was not started", "Call start first.")
        return self._child

    async def _start(self) -> PostgresAddress:
        account = serving_account(self._state.path / "data", self._root)
        cluster = await in_thread(lambda: settle(self._state, account))
        located = pg_binaries.locate(self._settings.bin_dir)
        binaries = await in_thread(lambda: pg_binaries.reachable(located, account, cluster.home))
        password = self._password(cluster)
        user, durable = self._settings.user, not self._settings.fast
        await in_thread(lambda: cluster.initialise(binaries, user, password, durable=durable))
        await cluster.clear()
        address = await self._serve(binaries, cluster, password)
        await in_thread(lambda: _ensure_database(located, address))
        self._address = address
        return address

    def _password(self, cluster: Cluster) -> str:
        name = "superuser.password"
        if cluster.data.exists() and not (self._state.path / name).exists():
            raise EmbeddedError(
                _STEP,
                f"the data is there, but its password file {self._state.path / name} is missing",
                "Put the file back, or choose another state folder.",
            )
        return self._state.secret(name, secrets.token_urlsafe(32))

    async def _serve(self, binaries: PostgresBinaries, cluster: Cluster, password: str) -> PostgresAddress:
        stored = self._state.read().get("port", "")
        port = ports.choose(int(stored) if stored.isdecimal() else None)
        for _ in range(_ATTEMPTS):
            self._state.remember(port=str(port))
            address = PostgresAddress(ports.HOST, port, self._settings.user, password, self._settings.database)
            self._child = Child(self._spec(binaries, cluster, port))
            if await self._is_ready(self._child, binaries, cluster, address):
                return address
            tail = self._child.log.tail()
            if "ddress already in use" in tail:
                port = ports.choose()
            elif "pre-existing shared memory block" in tail:
                await asyncio.sleep(1)  # backends of a dead server are still ending
            else:
                raise EmbeddedError(_STEP, f"the server ended at once\n{tail}", f"See {self._child.spec.log}.")
        raise EmbeddedError(_STEP, f"no attempt of {_ATTEMPTS} succeeded", f"See {self._root / 'postgres.log'}.")

    async def _is_ready(
        self, child: Child, binaries: PostgresBinaries, cluster: Cluster, address: PostgresAddress
    ) -> bool:
        """True when it serves, false when it ended."""
        try:
            async with asyncio.timeout(self._settings.start_timeout):
                while child.alive:
                    if cluster.is_served_by(child.pid):
                        await in_thread(lambda: _query(binaries, address, "postgres", "SELECT 1"))
                        return child.alive
                    await asyncio.sleep(0.02)
        except TimeoutError as error:
            raise EmbeddedError(
                _STEP,
                f"the server was not ready after {self._settings.start_timeout:g} s\n{child.log.tail()}",
                "Recovery after a crash can take long; try again.",
            ) from error
        return False

    def _spec(self, binaries: PostgresBinaries, cluster: Cluster, port: int) -> ChildSpec:
        chosen = self._settings
        options = [
            f"max_connections={chosen.max_connections}",
            f"shared_buffers={chosen.shared_buffers}",
            *_ALWAYS,
            *(_FAST if chosen.fast else ()),
            *chosen.options,
        ]
        switches = [part for option in options for part in ("-c", option)]
        where = ("-D", str(cluster.data), "-h", ports.HOST, "-p", str(port), "-k", "")
        return ChildSpec(
            name="postgres",
            argv=(binaries.program("postgres"), *where, *switches),
            env=server_env(),
            log=self._root / "postgres.log",
            stop=STOP,
            account=cluster.account,
            end_with_parent=signal.SIGINT if chosen.end_with_parent else None,
        )


def _ensure_database(binaries: PostgresBinaries, address: PostgresAddress) -> None:
    name = address.database.replace('"', '""')
    listed = _query(binaries, address, "postgres", "SELECT datname FROM pg_database")
    if address.database not in listed.splitlines():
        _query(binaries, address, "postgres", f'CREATE DATABASE "{name}"')


def _query(binaries: PostgresBinaries, address: PostgresAddress, database: str, statement: str) -> str:
    """One statement by `psql`, which comes with the server and needs no driver. The password is in no argument."""
    where = ("-h", address.host, "-p", str(address.port), "-U", address.user, "-d", database)
    try:
        done = subprocess.run(
            (binaries.program("psql"), "-X", "-w", "-At", *where, "-c", statement),
            capture_output=True,
            check=False,
            cwd="/",
            env={**server_env(), "PGPASSWORD": address.password, "PGCONNECT_TIMEOUT": "5"},
            stdin=subprocess.DEVNULL,
            text=True,
            timeout=_LOGIN_SECONDS,
        )
    except subprocess.TimeoutExpired as error:
        raise EmbeddedError(_STEP, "the server accepts no login in time", "Try again on a calmer machine.") from error
    if done.returncode != 0:
        raise EmbeddedError(
            _STEP,
            f"the login as {address.user} failed: {done.stderr.strip().splitlines()[-1:]}",
            "The password file and the data do not belong together; put back the file, or use another state folder.",
        )
    return done.stdout
