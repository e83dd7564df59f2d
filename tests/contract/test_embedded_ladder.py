import asyncio
import os
import signal
import socket
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from locktender.embedded.child import eventually
from locktender.testkit import servers
from locktender.testkit.embedded_rig import add_row, rows, runs

pytestmark = pytest.mark.takes(seconds=20)


def test_a_server_named_in_the_environment_comes_first(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("LOCKTENDER_TEST_DATABASE_URL", "postgresql://me:secret@db:5432/main")
    monkeypatch.setenv("LOCKTENDER_TEST_NATS_URL", "nats://broker:4222")
    monkeypatch.setenv("LOCKTENDER_TEST_NATS_SEEDS", str(tmp_path))
    (tmp_path / "ops.nk").write_text("SU")
    with servers.postgres_server() as postgres, servers.nats_server() as nats:
        assert (postgres.rung, postgres.dsn("other")) == ("environment", "postgresql://me:secret@db:5432/other")
        assert "secret" not in repr(postgres)
        assert (nats.rung, nats.url, dict(nats.seeds)) == (
            "environment",
            "nats://broker:4222",
            {"ops": tmp_path / "ops.nk"},
        )


def test_an_engine_that_does_not_answer_is_no_rung(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("LOCKTENDER_TEST_NATS_URL", raising=False)
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/nobody.sock")
    assert servers.nats_rung() == "embedded"


@pytest.mark.parametrize(("said", "rung"), [(b"HTTP/1.0 200 OK", "container"), (b"HTTP/1.0 500 No", "embedded")])
def test_an_engine_that_answers_its_ping_is_a_rung(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, said: bytes, rung: str
) -> None:
    monkeypatch.delenv("LOCKTENDER_TEST_DATABASE_URL", raising=False)
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/engine.sock")
    with socket.socket(socket.AF_UNIX) as engine:
        engine.bind(f"{tmp_path}/engine.sock")
        engine.listen(1)
        answering = threading.Thread(target=answer_once, args=(engine, said))
        answering.start()
        assert servers.database_rung() == rung
        answering.join(timeout=5)


def answer_once(engine: socket.socket, said: bytes) -> None:
    connection, _ = engine.accept()
    with connection:
        assert connection.recv(64).startswith(b"GET /_ping")
        connection.sendall(said + b"\r\n\r\n")


NESTED = """
import os, sys
from locktender.testkit.server_fixtures import nats_server, postgres_server

def test_hang(postgres_server, nats_server):
    print("SERVERS", postgres_server.supervisor.pid, nats_server.supervisor.pid, file=sys.__stderr__, flush=True)
    sys.stdin.read()
"""


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells a child that its parent died")
async def test_a_killed_test_run_leaves_no_server_behind(tmp_path: Path) -> None:
    (tmp_path / "test_nested.py").write_text(NESTED)
    postgres, broker = killed_run(tmp_path)
    assert await eventually(lambda: not runs("postgres", postgres) and not runs("nats-server", broker), within=20)


def killed_run(folder: Path) -> tuple[int, int]:
    argv = [sys.executable, "-m", "pytest", "-s", "-q", "-c", os.devnull, "--rootdir", str(folder), str(folder)]
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("LOCKTENDER", "DOCKER"))}
    with subprocess.Popen(argv, stdin=-1, stderr=-1, stdout=-3, text=True, env=clean) as run:
        try:
            for line in run.stderr:
                if line.startswith("SERVERS"):
                    _, postgres, broker = line.split()
                    return int(postgres), int(broker)
        finally:
            run.send_signal(signal.SIGKILL)
    pytest.fail("the nested run did not start its servers")


def test_servers_are_usable_and_gone_after_the_block(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LOCKTENDER_TEST_DATABASE_URL", raising=False)
    with servers.postgres_server() as server:
        asyncio.run(add_row(server.dsn()))
        assert asyncio.run(rows(server.dsn())) == 1
        pid = server.supervisor.pid if server.supervisor else None
    assert pid is None or not runs("postgres", pid)
