"""Whatever becomes of a command, of its guardian or of the runner: nothing that the command started stays alive."""

import asyncio
import os
import signal
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from uuid import uuid4

import pytest

from locktender.integrations.tofu.failures import CommandUnstartable, Halted, TooMuchOutput
from locktender.integrations.tofu.halting import Halt, HaltReason
from locktender.integrations.tofu.leftovers import Mark, kill_all, processes_of
from locktender.integrations.tofu.process import Command, Ran, run
from locktender.integrations.tofu.workplace import sweep, workplace
from locktender.testkit.nats_rig import eventually

PATIENCE = 10.0

ESCAPES = """
trap 'echo asked' TERM
env -i setsid sleep 600 &
setsid bash -c 'trap "" TERM; (sleep 601 &) ; sleep 602' &
echo ready
while true; do sleep 0.05; done
"""


@pytest.fixture
def mark() -> Mark:
    return Mark(str(uuid4()), 3)


class Heard:
    """The output of a command, and waiting for something in it."""

    def __init__(self) -> None:
        self.text = ""

    async def __call__(self, chunk: bytes) -> None:
        self.text += chunk.decode()

    async def until(self, word: str) -> None:
        await eventually(lambda: word in self.text)


def bash(script: str, directory: Path, **more: object) -> Command:
    return Command(["/bin/bash", "-c", script], directory, {"PATH": os.environ["PATH"]}, **more)


async def all_dead(pids: frozenset[int]) -> None:
    """A killed process may be listed a moment longer, as one that nobody has taken in."""
    await eventually(lambda: not any(alive(pid) for pid in pids))


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def told(pid: int, what: str) -> bytes:
    """Nothing of a process that is no more."""
    try:
        return Path(f"/proc/{pid}/{what}").read_bytes()
    except OSError:
        return b""


def files(root: Path) -> list[str]:
    return [path.name for path in root.rglob("*")]


async def running(mark: Mark, at_least: int) -> frozenset[int]:
    await eventually(lambda: len(processes_of(mark)) >= at_least)
    return processes_of(mark)


async def test_a_command_ends_with_its_code_and_its_output(tmp_path: Path, mark: Mark) -> None:
    heard = Heard()
    ran = await run(bash("echo out; echo err >&2; exit 3", tmp_path), mark=mark, halt=Halt(), output=heard)
    assert ran == Ran(3, b"")
    assert sorted(heard.text.split()) == ["err", "out"]


async def test_what_is_captured_is_not_streamed(tmp_path: Path, mark: Mark) -> None:
    heard = Heard()
    command = bash("echo out; echo err >&2", tmp_path, captured=100)
    assert await run(command, mark=mark, halt=Halt(), output=heard) == Ran(0, b"out\n")
    assert heard.text == "err\n"


async def test_nothing_of_the_service_is_in_the_environment(
    tmp_path: Path, mark: Mark, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SERVICE_SECRET", "canary")
    command = Command(["/usr/bin/env"], tmp_path, {"ONLY": "this"}, captured=1000)
    ran = await run(command, mark=mark, halt=Halt(), output=Heard())
    assert sorted(ran.captured.decode().split()) == [f"LOCKTENDER_RUN={mark.value}", "ONLY=this"]


async def test_too_much_output_ends_the_command(tmp_path: Path, mark: Mark) -> None:
    with pytest.raises(TooMuchOutput):
        await run(bash("yes", tmp_path, captured=100_000), mark=mark, halt=Halt(), output=Heard())
    assert not processes_of(mark)


async def test_a_program_that_is_not_there_is_named(tmp_path: Path, mark: Mark) -> None:
    with pytest.raises(CommandUnstartable, match="nowhere could not be started: No such file"):
        await run(Command(["/nowhere"], tmp_path, {}), mark=mark, halt=Halt(), output=Heard())


async def test_nothing_starts_after_a_stop(tmp_path: Path, mark: Mark) -> None:
    halt = Halt()
    halt.stop(HaltReason.CANCEL)
    with pytest.raises(Halted):
        await run(bash("touch started", tmp_path), mark=mark, halt=halt, output=Heard())
    assert files(tmp_path) == []


async def test_children_in_the_background_end_with_their_command(tmp_path: Path, mark: Mark) -> None:
    script = "setsid sleep 600 & env -i setsid sleep 600 & echo $(jobs -p)"
    heard = Heard()
    assert (await run(bash(script, tmp_path), mark=mark, halt=Halt(), output=heard)).code == 0
    pids = frozenset(int(pid) for pid in heard.text.split())
    assert len(pids) == 2
    assert not any(alive(pid) for pid in pids)


@pytest.mark.parametrize("whole_group", [False, True])
async def test_a_command_that_ignores_the_request_is_killed_with_all_that_left_its_group(
    tmp_path: Path, mark: Mark, *, whole_group: bool
) -> None:
    heard, halt = Heard(), Halt()
    async with asyncio.TaskGroup() as group:
        ended = group.create_task(
            run(bash(ESCAPES, tmp_path, whole_group=whole_group), mark=mark, halt=halt, output=heard)
        )
        await heard.until("ready")
        before = await running(mark, 6)
        halt.stop(HaltReason.CANCEL)
        await heard.until("asked")
        assert not ended.done()
        halt.kill()
    assert ended.result().code == -signal.SIGKILL
    assert not any(alive(pid) for pid in before)
    assert not processes_of(mark)


async def test_the_engine_alone_is_asked_to_stop_and_its_children_go_on(tmp_path: Path, mark: Mark) -> None:
    script = (
        "trap 'exit 7' TERM; bash -c 'trap \"echo child\" TERM; echo ready; for i in 1 2 3; do sleep 0.1; done' & wait"
    )
    for whole_group, told in ((False, False), (True, True)):
        heard, halt = Heard(), Halt()
        async with asyncio.TaskGroup() as group:
            ended = group.create_task(
                run(bash(script, tmp_path, whole_group=whole_group), mark=mark, halt=halt, output=heard)
            )
            await heard.until("ready")
            halt.stop(HaltReason.CANCEL)
        assert ended.result().code == 7
        assert told or "child" not in heard.text


async def test_a_cancelled_wait_leaves_nothing(tmp_path: Path, mark: Mark) -> None:
    heard = Heard()
    async with asyncio.TaskGroup() as group:
        waiting = group.create_task(run(bash(ESCAPES, tmp_path), mark=mark, halt=Halt(), output=heard))
        await heard.until("ready")
        before = await running(mark, 6)
        waiting.cancel()
    assert not any(alive(pid) for pid in before)


async def test_an_error_of_the_reader_is_raised_and_leaves_nothing(tmp_path: Path, mark: Mark) -> None:
    async def breaks(_chunk: bytes) -> None:
        raise LookupError("broken")

    with pytest.raises(LookupError, match="broken"):
        await run(bash(ESCAPES, tmp_path), mark=mark, halt=Halt(), output=breaks)
    assert not processes_of(mark)


async def test_a_killed_guardian_takes_everything_along(tmp_path: Path, mark: Mark) -> None:
    heard = Heard()
    script = "setsid sleep 600 & echo ready; wait"
    async with asyncio.TaskGroup() as group:
        ended = group.create_task(run(bash(script, tmp_path), mark=mark, halt=Halt(), output=heard))
        await heard.until("ready")
        before = await running(mark, 3)
        os.kill(guardian_among(before), signal.SIGKILL)
    assert ended.result().code == -signal.SIGKILL
    assert not any(alive(pid) for pid in before)


def guardian_among(pids: frozenset[int]) -> int:
    return next(pid for pid in pids if b"guardian.py" in told(pid, "cmdline"))


RUNNER = """
import asyncio, sys
from pathlib import Path
from locktender.integrations.tofu.halting import Halt
from locktender.integrations.tofu.leftovers import Mark
from locktender.integrations.tofu.process import Command, run
from locktender.integrations.tofu.workplace import workplace

async def main(script, root, name):
    async def output(chunk):
        sys.stdout.buffer.write(chunk)
        sys.stdout.flush()
    mark = Mark(name, 3)
    async with workplace(Path(root), mark) as place:
        (place.source / "secret").write_text("canary")
        command = Command(["/bin/bash", "-c", script], place.source, {"PATH": "/usr/bin:/bin"})
        await run(command, mark=mark, halt=Halt(), output=output)
        await output(b"between two commands\\n")
        await asyncio.sleep(600)

asyncio.run(main(*sys.argv[1:]))
"""


@asynccontextmanager
async def a_runner(
    root: Path, mark: Mark, script: str, last_words: bytes
) -> AsyncGenerator[asyncio.subprocess.Process]:
    """A runner with a run, which has come to a certain point. Afterwards it is killed with SIGKILL."""
    runner = await asyncio.create_subprocess_exec(
        sys.executable, "-c", RUNNER, script, str(root), mark.run, stdout=asyncio.subprocess.PIPE
    )
    try:
        async with asyncio.timeout(PATIENCE):
            assert await runner.stdout.readline() == last_words
        yield runner
    finally:
        runner.kill()
        await runner.wait()


def wardens(root: Path) -> list[int]:
    """Those of runs below `root`."""
    lines = {int(path.name): told(int(path.name), "cmdline") for path in Path("/proc").glob("[0-9]*")}
    return [pid for pid, line in lines.items() if b"warden.py" in line and f"{root}/".encode() in line]


async def test_a_runner_killed_at_once_leaves_no_process_and_no_directory(tmp_path: Path, mark: Mark) -> None:
    async with a_runner(tmp_path, mark, ESCAPES, b"ready\n"):
        before = await running(mark, 6)
        [warden] = wardens(tmp_path)
        assert told(warden, "environ") == b"", "it must not carry the mark"
        os.kill(warden, signal.SIGSTOP)
    await all_dead(before)
    assert await sweep(tmp_path) == 0, "it has the lock"
    assert "secret" in files(tmp_path)
    os.kill(warden, signal.SIGCONT)
    await eventually(lambda: not list(tmp_path.iterdir()), PATIENCE)
    await all_dead(frozenset({warden}))
    assert not processes_of(mark)


async def test_a_runner_killed_between_two_commands_leaves_no_directory(tmp_path: Path, mark: Mark) -> None:
    async with a_runner(tmp_path, mark, "mkdir -p sealed/a; chmod 500 sealed", b"between two commands\n"):
        assert "secret" in files(tmp_path)
    await eventually(lambda: not list(tmp_path.iterdir()), PATIENCE)


async def test_a_runner_killed_with_its_warden_leaves_a_directory_that_is_swept(tmp_path: Path, mark: Mark) -> None:
    async with a_runner(tmp_path, mark, ESCAPES, b"ready\n"):
        before = await running(mark, 6)
        for warden in wardens(tmp_path):
            os.kill(warden, signal.SIGKILL)
    await all_dead(before)
    assert "secret" in files(tmp_path)
    async with workplace(tmp_path, Mark(str(uuid4()), 1)) as living:
        assert await sweep(tmp_path) == 1
        assert "secret" not in files(tmp_path)
        assert "source" in files(living.root)
    assert files(tmp_path) == []


async def test_a_warden_ends_with_its_run_and_is_missed_by_nobody(tmp_path: Path, mark: Mark) -> None:
    async with workplace(tmp_path, mark):
        [warden] = wardens(tmp_path)
        assert await kill_all(mark) == 0
        assert alive(warden)
    assert (wardens(tmp_path), files(tmp_path)) == ([], [])
    async with workplace(tmp_path, mark):
        os.kill(*wardens(tmp_path), signal.SIGKILL)
    assert (wardens(tmp_path), files(tmp_path)) == ([], [])


async def test_a_sweep_by_mark_ends_earlier_epochs_and_nobody_else(mark: Mark) -> None:
    other = Mark(str(uuid4()), 1)
    started = [
        await asyncio.create_subprocess_exec(
            "/bin/bash", "-c", "env -i setsid sleep 600 & wait", env=each.environment, start_new_session=True
        )
        for each in (mark, other)
    ]
    try:
        await running(mark, 2)
        await running(other, 2)
        assert processes_of(mark.run) == processes_of(mark)
        assert not processes_of(Mark(mark.run, 4))
        assert await kill_all(mark.run) == 2
        assert not processes_of(mark.run)
        assert len(processes_of(other)) == 2
    finally:
        await kill_all(other)
        for each in started:
            await each.wait()


async def test_secrets_are_only_in_the_environment_of_the_command(tmp_path: Path, mark: Mark) -> None:
    heard = Heard()
    command = Command(["/bin/bash", "-c", "echo ready; sleep 600"], tmp_path, {"PATH": "/bin", "PASSWORD": "canary"})
    async with asyncio.TaskGroup() as group:
        waiting = group.create_task(run(command, mark=mark, halt=Halt(), output=heard))
        await heard.until("ready")
        found = await running(mark, 2)
        lines = b"".join(told(pid, "cmdline") for pid in found)
        held = told(guardian_among(found), "environ")
        waiting.cancel()
    assert b"canary" not in lines + held
    assert held == f"LOCKTENDER_RUN={mark.value}\0".encode()
