"""The runner's end of the run protocol, against a real HTTP server."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import replace
from typing import Any
from uuid import uuid4

import pytest
from pydantic import SecretStr

from locktender.contracts.kernel.backoff import Backoff
from locktender.contracts.kernel.errors import Unavailable
from locktender.contracts.stacks.wire import Done, LeaseGone, Outcome
from locktender.runtime.clock import SystemClock
from locktender.runtime.runs.errors import RunRefused, Unsealable
from locktender.runtime.runs.http import run_client
from locktender.runtime.runs.keys import RunKey
from locktender.runtime.runs.port import HttpRunPort, open_port
from locktender.runtime.runs.terms import PortTerms
from locktender.testkit.nats_rig import eventually
from locktender.testkit.run_wire import RunWireServer, run_wire_server

TOKEN = "run-token-0123456789"
RUN = uuid4()
QUICK = PortTerms(
    attempt_seconds=1, log_seconds=0.3, acknowledge_seconds=0.3, artifact_seconds=1, done_seconds=2, context_seconds=1,
    flush_seconds=0.5, status_seconds=0.02, batch_seconds=0.02, backpressure_seconds=0.2,
    retry=Backoff(first=0.02, ceiling=0.05),
)  # fmt: skip
DONE = Done(outcome=Outcome.SUCCESS, exit_code=0)

Open = Callable[..., AbstractAsyncContextManager[HttpRunPort]]


@pytest.fixture
def api() -> Generator[RunWireServer]:
    context = {
        "runId": RUN, "epoch": 3, "workspace": "acme", "stackId": str(uuid4()), "stackName": "net",
        "deploymentId": str(uuid4()), "deploymentNumber": 1, "mode": "plan", "engine": "auto",
        "checkout": {"kind": "archive", "sha256": "ab" * 32}, "variablesDigest": "d", "deadlineSeconds": 60,
        "graceSeconds": 5, "backend": {"address": "a", "lockAddress": "b", "unlockAddress": "c"},
    }  # fmt: skip
    with run_wire_server(TOKEN, context=context, secrets={"variables": {"password": "hunter2hunter2"}}) as server:
        yield server


@pytest.fixture
def opened(api: RunWireServer) -> Open:
    @asynccontextmanager
    async def opening(*, token: str = TOKEN, **more: Any) -> AsyncGenerator[HttpRunPort]:
        given = {"key": RunKey(), "clock": SystemClock(), "terms": QUICK} | more
        async with run_client(api.url) as http, open_port(http, RUN, SecretStr(token), **given) as port:
            yield port

    return opening


def first(status: int | str, times: int, path: str) -> Callable[[str, str], int | str | None]:
    """Trouble with the first requests of one path."""
    left = [times]

    def trouble(_method: str, asked: str) -> int | str | None:
        if asked != path or not left[0]:
            return None
        left[0] -= 1
        return status

    return trouble


async def test_the_secrets_of_a_run_come_sealed_to_the_runner(opened: Open) -> None:
    async with opened() as port:
        context, secrets = await port.context()
    assert (context.epoch, secrets.values()) == (3, ["hunter2hunter2"])


async def test_secrets_of_another_epoch_cannot_be_opened(opened: Open) -> None:
    key = RunKey()
    async with opened(key=key) as port:
        context, _ = await port.context()
    with pytest.raises(Unsealable):
        key.unseal(context.model_copy(update={"epoch": 4}))
    with pytest.raises(Unsealable):
        RunKey().unseal(context)


async def test_the_log_arrives_whole_in_batches(api: RunWireServer, opened: Open) -> None:
    lines = [f"line {number}\n".encode() for number in range(2000)]
    async with opened() as port:
        for line in lines:
            await port.log(line)
        await port.done(DONE)
    assert bytes(api.log) == b"".join(lines)
    assert api.count("POST /log") < 50


async def test_a_repeated_piece_of_the_log_is_kept_once(api: RunWireServer, opened: Open) -> None:
    api.trouble = first("drop", 3, "log")
    api.most = 7
    async with opened() as port:
        await port.log(b"what was told before its answer got lost")
        await port.log(b", and the rest")
        await port.done(DONE)
    assert bytes(api.log) == b"what was told before its answer got lost, and the rest"


async def test_a_tool_is_not_held_up_by_an_api_that_takes_no_log(api: RunWireServer, opened: Open) -> None:
    api.trouble = lambda _method, path: 503 if path == "log" else None
    terms = replace(QUICK, buffer_bytes=1000, batch_bytes=1000)
    async with opened(terms=terms) as port, asyncio.timeout(3):
        refused = 0
        for _ in range(200):
            try:
                await port.log(b"x" * 100)
            except Unavailable:
                refused += 1
        await port.done(DONE)
    assert refused >= 180
    assert api.done, "the end is told although the log could not be"


async def test_the_end_is_told_once_although_its_answer_got_lost(api: RunWireServer, opened: Open) -> None:
    api.trouble = first("drop", 1, "done")
    async with opened() as port:
        await port.done(DONE)
    assert [each["outcome"] for each in api.done] == ["success"]


async def test_a_void_token_ends_everything(opened: Open) -> None:
    async with opened(token="void") as port:
        with pytest.raises(LeaseGone):
            await port.put_artifact("analysis.json", b"{}")
        assert port.lost.is_set()
        with pytest.raises(LeaseGone):
            await port.log(b"late")
        with pytest.raises(LeaseGone):
            await port.done(DONE)


async def test_a_lost_lease_is_noticed_whoever_says_it(api: RunWireServer, opened: Open) -> None:
    api.trouble = lambda _method, path: 409 if path == "log" else None
    async with opened() as port:
        await port.log(b"zombie")
        async with asyncio.timeout(5):
            await port.lost.wait()
        with pytest.raises(LeaseGone):
            await port.get_artifact("plan.tfplan")


async def test_an_api_that_is_away_for_a_moment_is_asked_again(api: RunWireServer, opened: Open) -> None:
    api.trouble = first(503, 3, "artifacts/plan.tfplan")
    async with opened() as port:
        await port.put_artifact("plan.tfplan", b"planned")
        assert await port.get_artifact("plan.tfplan") == b"planned"


async def test_an_artifact_that_is_not_there_is_no_lost_lease(opened: Open) -> None:
    async with opened() as port:
        with pytest.raises(RunRefused) as refused:
            await port.get_artifact("source.tar.gz")
        assert (refused.value.status, port.lost.is_set()) == (404, False)


async def test_a_remote_lease_lives_by_asking_and_brings_the_cancel(api: RunWireServer, opened: Open) -> None:
    async with opened(renews=5.0) as port:
        await eventually(lambda: api.count("GET /status") > 3, 5)
        assert not port.cancelled.is_set()
        api.status = "requested_cancellation"
        async with asyncio.timeout(5):
            await port.cancelled.wait()
        await port.acknowledge_cancel()
    assert api.status == "cancelling"


async def test_a_remote_lease_without_answers_is_given_up_in_time(api: RunWireServer, opened: Open) -> None:
    api.trouble = lambda _method, path: 503 if path == "status" else None
    async with opened(renews=0.5) as port, asyncio.timeout(3):
        await port.lost.wait()


async def test_a_runner_that_is_shut_down_confirms_no_cancel(api: RunWireServer, opened: Open) -> None:
    async with opened() as port:
        port.interrupt()
        await port.acknowledge_cancel()
        assert port.cancelled.is_set()
        assert port.interrupted
        port.cancel()
        assert not port.interrupted
    assert api.count("POST /acknowledging-cancel") == 0
