import os
import shutil
import socket
import sys
from collections.abc import Iterator
from pathlib import Path

import asyncpg
import pytest

from locktender.embedded import pg_binaries, pg_cluster, ports
from locktender.embedded.account import Account
from locktender.embedded.errors import EmbeddedError
from locktender.embedded.postgres import PostgresSettings, PostgresSupervisor
from locktender.testkit.embedded_rig import add_row, connected, rows, supervised_elsewhere
from locktender.testkit.scratch import scratch_dir

pytestmark = pytest.mark.takes(seconds=20)

SETTINGS = PostgresSettings(shared_buffers="16MB", max_connections=20, fast=True)


@pytest.fixture
def state() -> Iterator[Path]:
    with scratch_dir() as folder:
        yield folder / "state"


async def test_rows_and_address_survive_a_clean_restart(state: Path) -> None:
    durable = PostgresSettings()
    async with PostgresSupervisor(state, settings=durable) as first:
        await add_row(first.dsn())
    async with PostgresSupervisor(state, settings=durable) as second, connected(second.dsn()) as connection:
        assert await rows(second.dsn()) == 1
        assert second.dsn() == first.dsn()
        shown = [
            await connection.fetchval(f"SHOW {name}") for name in ("data_checksums", "fsync", "synchronous_commit")
        ]
        assert shown == ["on", "on", "on"]


async def test_it_asks_for_its_password_and_shows_it_to_nobody(state: Path) -> None:
    async with PostgresSupervisor(state, settings=SETTINGS) as postgres:
        with pytest.raises(asyncpg.InvalidPasswordError):
            await asyncpg.connect(postgres.dsn(user="locktender", password="guess"))
        password = postgres.address.password
        assert password not in repr(postgres.address)
        assert password.encode() not in arguments(postgres.pid)
        assert password not in (state / "postgres.log").read_text()
        assert (state / "postgres" / "superuser.password").stat().st_mode & 0o777 == 0o600


async def test_the_log_holds_neither_statements_nor_rows(state: Path) -> None:
    async with PostgresSupervisor(state, settings=SETTINGS) as postgres, connected(postgres.dsn()) as connection:
        await connection.execute("CREATE TABLE once (word text PRIMARY KEY)")
        await connection.execute("INSERT INTO once VALUES ('canary')")
        with pytest.raises(asyncpg.UniqueViolationError):
            await connection.execute("INSERT INTO once VALUES ('canary')")
        log = (state / "postgres.log").read_text()
        assert "duplicate key" in log
        assert "canary" not in log


async def test_two_supervisors_never_share_a_folder(state: Path) -> None:
    async with PostgresSupervisor(state, settings=SETTINGS) as first:
        with pytest.raises(EmbeddedError, match="another Locktender"):
            await PostgresSupervisor(state, settings=SETTINGS).start()
        await add_row(first.dsn())


async def test_a_port_that_another_program_took_is_exchanged_for_good(state: Path) -> None:
    async with PostgresSupervisor(state, settings=SETTINGS) as first:
        await add_row(first.dsn())
        port = first.address.port
    with socket.create_server(("127.0.0.1", port)):
        async with PostgresSupervisor(state, settings=SETTINGS) as second:
            assert second.address.port != port
            assert await rows(second.dsn()) == 1
    async with PostgresSupervisor(state, settings=SETTINGS) as third:
        assert third.address.port == second.address.port


async def test_a_port_taken_between_choice_and_start_is_exchanged(state: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        answers = iter([taken.getsockname()[1]])
        honest = ports.choose
        monkeypatch.setattr(ports, "choose", lambda preferred=None: next(answers, None) or honest(preferred))
        async with PostgresSupervisor(state, settings=SETTINGS) as postgres:
            assert postgres.address.port != taken.getsockname()[1]
            await add_row(postgres.dsn())


async def test_data_of_another_major_version_is_refused_and_left_alone(state: Path) -> None:
    async with PostgresSupervisor(state, settings=SETTINGS) as postgres:
        await add_row(postgres.dsn())
    version = state / "postgres" / "data" / "PG_VERSION"
    version.write_text("17\n")
    with pytest.raises(EmbeddedError, match="PostgreSQL 17") as refused:
        await PostgresSupervisor(state, settings=SETTINGS).start()
    assert "pg_dump" in refused.value.hint
    version.write_text("18\n")
    async with PostgresSupervisor(state, settings=SETTINGS) as again:
        assert await rows(again.dsn()) == 1


async def test_data_without_its_password_is_refused_and_left_alone(state: Path) -> None:
    async with PostgresSupervisor(state, settings=SETTINGS) as postgres:
        await add_row(postgres.dsn())
    password = state / "postgres" / "superuser.password"
    kept = password.read_text()
    password.unlink()
    with pytest.raises(EmbeddedError, match="password file"):
        await PostgresSupervisor(state, settings=SETTINGS).start()
    password.write_text("another\n")
    with pytest.raises(EmbeddedError, match="login"):
        await PostgresSupervisor(state, settings=SETTINGS).start()
    password.write_text(kept)
    async with PostgresSupervisor(state, settings=SETTINGS) as again:
        assert await rows(again.dsn()) == 1


async def test_a_server_that_cannot_start_says_why_and_frees_its_folder(state: Path) -> None:
    wrong = PostgresSettings(fast=True, options=("no_such_option=1",))
    with pytest.raises(EmbeddedError, match="no_such_option"):
        await PostgresSupervisor(state, settings=wrong).start()
    async with PostgresSupervisor(state, settings=SETTINGS) as postgres:
        await add_row(postgres.dsn())


@pytest.mark.skipif(os.geteuid() != 0, reason="only root has to run the server as another user")
async def test_root_with_everything_in_a_private_home_is_served_from_a_place_that_others_can_enter(
    state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = state.parent / "home"
    home.mkdir(mode=0o700)
    monkeypatch.setattr(pg_cluster, "_SYSTEM_SHELF", state.parent / "shelf")
    settings = PostgresSettings(shared_buffers="16MB", fast=True, bin_dir=install_into(home / "site-packages"))
    async with PostgresSupervisor(home / "state", settings=settings) as first:
        await add_row(first.dsn())
    async with PostgresSupervisor(home / "state", settings=settings) as second:
        assert await rows(second.dsn()) == 1
    assert home.stat().st_mode & 0o777 == 0o700


@pytest.mark.skipif(os.geteuid() != 0, reason="the other tests already run without rights")
async def test_it_runs_for_a_user_without_rights_and_the_data_stay_with_that_user(state: Path) -> None:
    nobody = Account(65534, 65534)
    python = python_for(nobody)
    own(state, nobody)
    with supervised_elsewhere("postgres", state, ends_with_parent=True, account=nobody, python=python) as other:
        await add_row(other.address)
        other.close()
    async with PostgresSupervisor(state, settings=SETTINGS) as postgres:
        assert await rows(postgres.dsn()) == 1
    assert owners(state) == {nobody.uid}


def own(folder: Path, account: Account) -> None:
    folder.mkdir()
    os.chown(folder, account.uid, account.gid)


def owners(folder: Path) -> set[int]:
    return {each.stat().st_uid for each in folder.rglob("*")}


def python_for(account: Account) -> str:
    same = f"import sys; sys.exit(sys.version_info[:2] != {sys.version_info[:2]})"
    for each in (sys.executable, "/usr/bin/python3"):
        if account.can_run((each, "-c", same)):
            return each
    pytest.skip("no interpreter of this version can be run by another user")


def install_into(site: Path) -> Path:
    installed = pg_binaries.locate().folder.parent
    package = site / installed.parent.name
    for part in ("bin", "lib", "share"):
        shutil.copytree(installed / part, package / installed.name / part)
    shutil.copytree(installed.parents[1] / f"{package.name}.libs", site / f"{package.name}.libs")
    return package / installed.name / "bin"


def arguments(pid: int) -> bytes:
    return Path(f"/proc/{pid}/cmdline").read_bytes()
