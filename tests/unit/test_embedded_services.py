import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from locktender.contracts.kernel.backoff import Backoff
from locktender.embedded.child import Child, ChildSpec, eventually
from locktender.embedded.errors import EmbeddedError
from locktender.embedded.services import Restart, ServiceProcess, ServiceSpec
from locktender.runtime.clock import SystemClock

QUICK = Backoff(first=0.01, ceiling=0.02)


def spec(folder: Path, body: str, **changes: object) -> ServiceSpec:
    (folder / "sample_service.py").write_text(body)
    given: dict[str, object] = {"drain_seconds": 2.0, "backoff": QUICK, **changes}
    return ServiceSpec(
        "sample",
        "sample_service",
        environment={"PYTHONPATH": str(folder)},
        log_dir=folder,
        **given,  # type: ignore[arg-type]
    )


@asynccontextmanager
async def supervised(service: ServiceProcess) -> AsyncIterator[None]:
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(service.supervise())
        yield
        service.stop()


async def test_a_service_that_is_killed_is_started_again_and_the_restart_is_reported(tmp_path: Path) -> None:
    reports: list[Restart] = []
    body = "import time; print('up'); time.sleep(60)"
    service = ServiceProcess(spec(tmp_path, body), clock=SystemClock(), report=reports.append)
    log = tmp_path / "sample.log"
    async with supervised(service):
        assert await eventually(lambda: log.exists() and log.read_text() == "up\n", within=10)
        assert service.pid is not None
        os.kill(service.pid, signal.SIGKILL)
        assert await eventually(lambda: log.read_text() == "up\nup\n", within=10)
    assert [(report.code, report.attempt, report.log) for report in reports] == [(-9, 1, "up")]
    assert service.pid is None


async def test_stop_asks_politely_and_kills_a_service_that_does_not_listen(tmp_path: Path) -> None:
    reports: list[Restart] = []
    body = """
import signal, time
signal.signal(signal.SIGTERM, lambda *_: print("asked"))
print("up")
while True:
    time.sleep(1)
"""
    service = ServiceProcess(spec(tmp_path, body, drain_seconds=0.2), clock=SystemClock(), report=reports.append)
    log = tmp_path / "sample.log"
    async with supervised(service):
        assert await eventually(lambda: log.exists() and log.read_text() == "up\n", within=10)
    assert log.read_text() == "up\nasked\n"
    assert service.pid is None
    assert not reports


async def test_a_cancelled_supervisor_leaves_no_process_behind(tmp_path: Path) -> None:
    body = "import time; print('up'); time.sleep(60)"
    service = ServiceProcess(spec(tmp_path, body), clock=SystemClock(), report=lambda _: None)
    async with asyncio.TaskGroup() as tasks:
        running = tasks.create_task(service.supervise())
        assert await eventually(lambda: service.pid is not None, within=10)
        running.cancel()
    assert service.pid is None


async def test_a_service_that_never_stays_up_is_given_up_with_the_end_of_its_log(tmp_path: Path) -> None:
    reports: list[Restart] = []
    broken = spec(tmp_path, "raise SystemExit('no settings')", most_restarts=2)
    service = ServiceProcess(broken, clock=SystemClock(), report=reports.append)
    with pytest.raises(EmbeddedError, match="no settings"):
        await service.supervise()
    assert [report.attempt for report in reports] == [1, 2]


async def test_a_service_sees_its_own_environment_and_not_ours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PGPASSWORD", "ours")
    body = "import os, time; print(sorted(k for k in os.environ if k.startswith('PG'))); time.sleep(60)"
    service = ServiceProcess(spec(tmp_path, body), clock=SystemClock(), report=lambda _: None)
    log = tmp_path / "sample.log"
    async with supervised(service):
        assert await eventually(lambda: log.exists() and log.read_text() == "[]\n", within=10)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells a child that its parent died")
async def test_a_child_ends_when_its_parent_is_killed(tmp_path: Path) -> None:
    parent = """
import os, signal, sys, time
from pathlib import Path
from locktender.embedded.child import Child, ChildSpec
spec = ChildSpec("sleep", ("/bin/sleep", "60"), {}, Path(sys.argv[1]), (), end_with_parent=signal.SIGTERM)
print(Child(spec).pid, flush=True)
time.sleep(60)
"""
    out = tmp_path / "parent.log"
    middle = ChildSpec("parent", (sys.executable, "-c", parent, str(tmp_path / "sleep.log")), dict(os.environ), out, ())
    child = Child(middle)
    try:
        assert await eventually(lambda: out.read_text().strip().isdecimal(), within=10), out.read_text()
        sleeper = Path("/proc", out.read_text().strip(), "exe")
        assert lives(sleeper)
    finally:
        child.kill()
    assert await eventually(lambda: not lives(sleeper), within=10)


def lives(exe: Path) -> bool:
    try:
        return bool(exe.readlink())
    except OSError:
        return False


async def test_a_program_that_is_not_there_is_a_clear_error(tmp_path: Path) -> None:
    absent = ChildSpec("absent", (str(tmp_path / "absent"),), {}, tmp_path / "log", ())
    with pytest.raises(EmbeddedError, match="cannot be executed"):
        Child(absent)
