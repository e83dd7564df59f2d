"""What tests of the embedded servers share: rows to be kept, processes to be gone, a supervisor elsewhere."""

import os
import signal
import subprocess
import sys
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TypedDict

import asyncpg

from locktender.embedded.account import Account

_OTHER = """
import asyncio, sys
from pathlib import Path
from locktender.embedded.nats import NatsSettings, NatsSupervisor
from locktender.embedded.postgres import PostgresSettings, PostgresSupervisor

async def main():
    kind, folder, ends = sys.argv[1], Path(sys.argv[2]), sys.argv[3] == "yes"
    if kind == "postgres":
        settings = PostgresSettings(shared_buffers="16MB", max_connections=20, fast=True, end_with_parent=ends)
        server = PostgresSupervisor(folder, settings=settings)
    else:
        server = NatsSupervisor(folder, NatsSettings(admin=True, end_with_parent=ends))
    async with server:
        print(server.pid, server.dsn() if kind == "postgres" else server.address.url, flush=True)
        await asyncio.to_thread(sys.stdin.read)

asyncio.run(main())
"""


@asynccontextmanager
async def connected(dsn: str) -> AsyncGenerator["asyncpg.Connection[asyncpg.Record]"]:
    """A connection, closed within a deadline."""
    connection = await asyncpg.connect(dsn, timeout=10)
    try:
        yield connection
    finally:
        await connection.close(timeout=5)


async def add_row(dsn: str) -> None:
    """Commit one more row, in a table made when it is missing."""
    async with connected(dsn) as connection:
        await connection.execute("CREATE TABLE IF NOT EXISTS kept (n int)")
        await connection.execute("INSERT INTO kept VALUES (1)")


async def rows(dsn: str) -> int:
    """How many rows `add_row` committed and the server still has."""
    async with connected(dsn) as connection:
        return int(await connection.fetchval("SELECT count(*) FROM kept"))


def runs(program: str, pid: int) -> bool:
    """Whether `pid` is a living process (no zombie) of the executable `program` (Linux)."""
    try:
        return Path("/proc", str(pid), "exe").readlink().name == program
    except OSError:
        return False


@dataclass(frozen=True, slots=True)
class Supervised:
    """A server that another process supervises."""

    pid: int
    address: str
    supervisor: "subprocess.Popen[str]"

    def kill_supervisor(self) -> None:
        """End the supervisor as the kernel would when memory runs out."""
        self.supervisor.send_signal(signal.SIGKILL)
        self.supervisor.wait(timeout=10)

    def close(self) -> None:
        """Let the supervisor stop its server and end.

        Raises:
            subprocess.TimeoutExpired: it did not within a minute.
        """
        if self.supervisor.stdin is not None:
            self.supervisor.stdin.close()
        self.supervisor.wait(timeout=60)


class _Identity(TypedDict, total=False):
    user: int
    group: int
    extra_groups: tuple[int, ...]


@contextmanager
def supervised_elsewhere(
    kind: str, folder: Path, *, ends_with_parent: bool, account: Account | None = None, python: str = sys.executable
) -> Generator[Supervised]:
    """A `postgres` or `nats` server with a supervisor in a process of its own, as `account` where one is given."""
    identity: _Identity = {} if account is None else {"user": account.uid, "group": account.gid, "extra_groups": ()}
    ours = [each for each in sys.path if "site-packages" in each or each.endswith("src")]
    with subprocess.Popen(
        [python, "-c", _OTHER, kind, str(folder), "yes" if ends_with_parent else "no"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd="/",
        env={"PATH": os.defpath, "PYTHONPATH": os.pathsep.join(ours)},
        **identity,
    ) as process:
        try:
            said = process.stdout.readline() if process.stdout is not None else ""
            assert said, "the other supervisor did not start; see its error above"
            pid, address = said.split()
            yield Supervised(int(pid), address, process)
        finally:
            process.terminate()


@contextmanager
def stranger(account: Account | None) -> Generator[int]:
    """The process id of some other living program, of `account` where one is given. It must survive the block."""
    identity: _Identity = {} if account is None else {"user": account.uid, "group": account.gid, "extra_groups": ()}
    with subprocess.Popen(["/bin/sleep", "300"], cwd="/", **identity) as process:
        try:
            yield process.pid
            assert process.poll() is None, "the stranger was harmed"
        finally:
            process.kill()


@contextmanager
def busy_backend(psql: str, dsn: str) -> Generator[None]:
    """A client whose statement never ends and never waits: its backend notices nothing around it."""
    endless = "SELECT count(*) FROM generate_series(1, 1000000000000)"
    with subprocess.Popen([psql, dsn, "-c", endless], stderr=subprocess.DEVNULL, env={}, cwd="/") as process:
        try:
            yield
        finally:
            process.kill()
