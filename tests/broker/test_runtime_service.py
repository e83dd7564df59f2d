import os
import signal
import subprocess
import sys
from collections.abc import AsyncGenerator, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from locktender.testkit.nats_rig import NatsRig, eventually, nats_rig

PROGRAM = """
import asyncio, sys
from locktender.contracts.kernel.errors import Unavailable
from locktender.runtime.service import Service, run_service
from locktender.runtime.settings import ProcessSettings, load

async def returns(service): pass
async def waits(service): await service.stop.wait()
async def fails(service): raise ValueError("a bug")
async def lacks(service): raise Unavailable("the database does not answer")
async def clings(service): await asyncio.Event().wait()
async def severed(service):
    await service.bus.client.close()
    await service.stop.wait()
async def group(service):
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(lacks(service))
        tasks.create_task(clings(service))

sys.exit(run_service("demo", globals()[sys.argv[1]], load(ProcessSettings)))
"""


@pytest.fixture
async def rig() -> AsyncGenerator[NatsRig]:
    async with nats_rig() as running:
        yield running


class Process:
    """One service as a real process."""

    def __init__(self, popen: subprocess.Popen[str], output: Path) -> None:
        self._popen = popen
        self._output = output

    def output(self) -> str:
        return self._output.read_text()

    def signal(self, number: signal.Signals) -> None:
        self._popen.send_signal(number)

    async def ends_with(self, code: int) -> bool:
        await eventually(lambda: self._popen.poll() is not None, seconds=30)
        assert self._popen.returncode == code, self.output()
        return True


@contextmanager
def service(main: str, tmp_path: Path, nats_url: str, **settings: str) -> Iterator[Process]:
    path = tmp_path / "log"
    environment = {
        **os.environ,
        "LOCKTENDER_DATABASE_URL": "postgresql://unused",
        "LOCKTENDER_NATS_URL": nats_url,
        **{f"LOCKTENDER_{name.upper()}": value for name, value in settings.items()},
    }
    with (
        path.open("w") as out,
        subprocess.Popen(
            [sys.executable, "-c", PROGRAM, main], env=environment, stdout=out, stderr=subprocess.STDOUT, text=True
        ) as popen,
    ):
        try:
            yield Process(popen, path)
        finally:
            popen.kill()


@pytest.mark.parametrize(
    ("main", "code", "said"),
    [
        ("returns", 0, "stopped"),
        ("fails", 1, "a bug"),
        ("lacks", 5, "the database does not answer"),
        ("group", 5, "the database does not answer"),
        ("severed", 1, "closed for good"),
    ],
)
async def test_the_exit_code_says_how_it_ended(rig: NatsRig, tmp_path: Path, main: str, code: int, said: str) -> None:
    with service(main, tmp_path, rig.nats_url) as process:
        assert await process.ends_with(code)
        assert process.output().count(said) == 1


async def test_without_nats_it_ends_as_unavailable_and_says_what_to_do(rig: NatsRig, tmp_path: Path) -> None:
    await rig.kill()
    with service("waits", tmp_path, rig.nats_url) as process:
        assert await process.ends_with(5)
        assert "set LOCKTENDER_NATS_URL" in process.output()
        assert "Traceback" not in process.output()


async def test_a_wrong_setting_is_a_usage_error(rig: NatsRig, tmp_path: Path) -> None:
    with service("waits", tmp_path, rig.nats_url, log_level="loud") as process:
        assert await process.ends_with(2)
        assert process.output().startswith("LOCKTENDER_LOG_LEVEL: ")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_one_signal_stops_it_in_good_order(rig: NatsRig, tmp_path: Path, number: signal.Signals) -> None:
    with service("waits", tmp_path, rig.nats_url) as process:
        await eventually(lambda: '"started"' in process.output(), seconds=30)
        process.signal(number)
        assert await process.ends_with(0)


async def test_a_second_signal_ends_it_at_once(rig: NatsRig, tmp_path: Path) -> None:
    with service("clings", tmp_path, rig.nats_url) as process:
        await eventually(lambda: '"started"' in process.output(), seconds=30)
        process.signal(signal.SIGTERM)
        await eventually(lambda: "stop requested" in process.output())
        process.signal(signal.SIGTERM)
        assert await process.ends_with(130)
