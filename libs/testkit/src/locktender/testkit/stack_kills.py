"""Runners of stacks that are killed where the run protocol says how far they are, and what must be true afterwards.

The places are moments of the wire: before the API takes a request in, or after it has acted on it and before anybody
hears of it. Whoever is killed there has done everything before, and nothing after.
"""

import asyncio
import base64
import json
import os
import re
import signal
import sys
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, NamedTuple
from uuid import UUID

from litestar.types import ASGIApp, Message, Receive, Scope, Send

from locktender.testkit.nats_rig import eventually
from locktender.testkit.run_bench import RunBench
from locktender.testkit.stack_truth import processes_about

LEASE_SECONDS = 2.0


class Place(NamedTuple):
    """A moment of the wire. `words` have to be in the body of the request, where there are any."""

    method: str
    path: str
    after: bool
    words: bytes = b""


PLANNING = {
    "the context was given": Place("GET", r"/v1/runs/[^/]+/context", after=True),
    "the state was read": Place("GET", r"/v1/stacks/[^/]+/state", after=True),
    "the plan is being made": Place("POST", r"/v1/runs/[^/]+/log", after=True, words=b" plan "),
    "the analysis is on its way": Place("PUT", r"/v1/runs/.+/analysis.json", after=False),
    "the summary was kept": Place("PUT", r"/v1/runs/.+/plan-summary.json", after=True),
    "the plan was kept": Place("PUT", r"/v1/runs/.+/plan.tfplan", after=True),
    "the plan is told": Place("POST", r"/v1/runs/[^/]+/done", after=False),
    "the plan was told": Place("POST", r"/v1/runs/[^/]+/done", after=True),
}
APPLYING = {
    "the plan was fetched": Place("GET", r"/v1/runs/.+/plan.tfplan", after=True),
    "the state was locked": Place("POST", r"/v1/stacks/[^/]+/state/lock", after=True),
    "a resource is being made": Place("POST", r"/v1/runs/[^/]+/log", after=True, words=b"provisioning"),
    "the state is on its way": Place("POST", r"/v1/stacks/[^/]+/state", after=False),
    "the state was kept": Place("POST", r"/v1/stacks/[^/]+/state", after=True),
    "the state was unlocked": Place("POST", r"/v1/stacks/[^/]+/state/unlock", after=True),
    "the inventory is on its way": Place("PUT", r"/v1/runs/.+/analysis.json", after=False),
    "the apply is told": Place("POST", r"/v1/runs/[^/]+/done", after=False),
    "the apply was told": Place("POST", r"/v1/runs/[^/]+/done", after=True),
}


@dataclass(frozen=True, slots=True)
class Heard:
    """A request of a run, how it was answered, and the header by which it was let in."""

    run: str
    method: str
    path: str
    status: int
    authorization: str = field(repr=False)


class Wire:
    """Stands around an API: strikes once at the place that is armed, and remembers how runs were answered."""

    def __init__(self) -> None:
        self.heard: list[Heard] = []
        self.struck = asyncio.Event()
        self._place: Place | None = None
        self._strike: Callable[[], None] = _nothing

    def arm(self, place: Place, strike: Callable[[], None]) -> None:
        """Call `strike` the next time that a request comes to `place`."""
        self._place, self._strike = place, strike
        self.struck = asyncio.Event()

    def __call__(self, app: ASGIApp) -> ASGIApp:
        """The routes, watched."""

        async def watched(scope: Scope, receive: Receive, send: Send) -> None:
            if scope["type"] == "http":
                await self._pass(app, scope, receive, send)
            else:
                await app(scope, receive, send)

        return watched

    async def _pass(self, app: ASGIApp, scope: Any, receive: Receive, send: Send) -> None:
        method, path, body = str(scope["method"]), str(scope["path"]), bytearray()

        async def read() -> Any:
            message = await receive()
            if message["type"] == "http.request":
                body.extend(message["body"])
            return message

        async def answer(message: Message) -> None:
            if message["type"] == "http.response.start":
                given = dict(scope["headers"]).get(b"authorization", b"").decode("latin-1")
                self.heard.append(Heard(_run_of(path, given), method, path, message["status"], given))
                self._come_by(method, path, bytes(body), after=True)
            await send(message)

        self._come_by(method, path, b"", after=False)
        if self.struck.is_set() and self._place is not None and not self._place.after:
            self._place = None
            # It never arrived. Whoever still waits for an answer is told so.
            await send({"type": "http.response.start", "status": 503, "headers": []})
            await send({"type": "http.response.body", "body": b"", "more_body": False})
            return
        await app(scope, read, answer)

    def _come_by(self, method: str, path: str, body: bytes, *, after: bool) -> None:
        place = self._place
        if place is None or place.after is not after or method != place.method or place.words not in body:
            return
        if re.fullmatch(place.path, path):
            self._strike()
            self._place = None if after else place
            self.struck.set()


def _nothing() -> None:
    """Nobody is there to be struck."""


def _run_of(path: str, authorization: str) -> str:
    """Whose request it is: said in the path, or as the user of the state backend."""
    if path.startswith("/v1/runs/"):
        return path.split("/")[3]
    if not authorization.startswith("Basic "):
        return ""
    with suppress(ValueError):
        return base64.b64decode(authorization[6:]).decode().partition(":")[0]
    return ""


@dataclass(frozen=True, slots=True)
class RunnerProcess:
    """A runner service that is a process of its own."""

    process: asyncio.subprocess.Process

    def signal(self, number: signal.Signals) -> None:
        """Send it a signal."""
        with suppress(ProcessLookupError):
            os.kill(self.process.pid, number)

    @property
    def alive(self) -> bool:
        """Whether it has not ended."""
        return self.process.returncode is None

    def kill(self) -> None:
        """As the kernel does when memory runs out."""
        self.signal(signal.SIGKILL)


@asynccontextmanager
async def runner_process(
    bench: RunBench, *, module: tuple[str, ...] = ("locktender.runner",), **environment: str
) -> AsyncGenerator[RunnerProcess]:
    """A runner for as long as the block lasts, with a lease of two seconds; killed at the end, if it still lives."""
    quick = {
        "LOCKTENDER_LEASE_TTL_SECONDS": str(LEASE_SECONDS),
        "LOCKTENDER_RENEW_SECONDS": "0.5",
        "LOCKTENDER_DRAIN_SECONDS": "5",
    }
    log = bench.folder / "runner.log"
    with log.open("ab") as output:
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", *module, stdout=output, stderr=output,
            env={**bench.environment(), **quick, **environment},
        )  # fmt: skip
    runner = RunnerProcess(process)
    try:
        yield runner
    finally:
        runner.kill()
        async with asyncio.timeout(20):
            await process.wait()


async def assert_no_process(*runs: UUID, seconds: float = 15.0) -> None:
    """Fail unless nothing of these runs is alive within `seconds`."""
    words, left = [str(run) for run in runs], dict[int, str]()

    async def gone() -> bool:
        nonlocal left
        left = await asyncio.to_thread(processes_about, *words)
        return not left

    try:
        await eventually(gone, seconds)
    except TimeoutError:
        raise AssertionError(f"after {seconds:g} s there are left: {left}") from None


async def assert_state_is_whole(bench: RunBench, read: Callable[[], Awaitable[bytes]]) -> dict[str, Any] | None:
    """Fail unless the record of the state and what is stored are one; the state, or None where there is none.

    Serials rise from version to version in one lineage, and the version that counts is the last one.
    """
    stack = await bench.rig.stack()
    assert (stack["state_lock"], stack["state_lock_run_id"]) == (None, None), "a lock of an ended run"
    versions = await bench.rig.db.admin.fetch(
        "select id, serial, lineage from locktender.stack_state where stack_id = $1 order by created_at, id",
        stack["id"],
    )
    serials = [row["serial"] for row in versions]
    assert serials == sorted(set(serials)), serials
    assert len({row["lineage"] for row in versions}) <= 1, versions
    if not versions:
        assert stack["state_version_id"] is None
        return None
    assert (stack["state_version_id"], stack["state_serial"]) == (versions[-1]["id"], serials[-1])
    state = json.loads(await read())
    assert (state["serial"], state["lineage"]) == (serials[-1], versions[-1]["lineage"])
    return state
