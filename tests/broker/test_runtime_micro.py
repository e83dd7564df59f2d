import asyncio
import json
from collections.abc import AsyncGenerator, Mapping

import pytest

from locktender.contracts.kernel.errors import NotFound, Rejected
from locktender.runtime.bus import Bus
from locktender.runtime.micro import OpsEndpoints
from locktender.testkit.nats_rig import NatsRig, eventually, nats_rig


@pytest.fixture
async def rig() -> AsyncGenerator[NatsRig]:
    async with nats_rig() as running:
        yield running


@pytest.fixture
async def bus(rig: NatsRig) -> AsyncGenerator[Bus]:
    connected = await rig.bus("reaper")
    yield connected
    await connected.close()


def endpoints(bus: Bus) -> OpsEndpoints:
    return OpsEndpoints(bus, "reaper", version="0.1.0", description="Turns passed deadlines into honest states")


async def test_operators_see_what_there_is_and_how_it_was_used(bus: Bus) -> None:
    async def sweep(body: bytes) -> Mapping[str, object]:
        return {"moved": len(body)}

    ops = endpoints(bus)
    ops.add("sweep", "lt.ops.reaper.sweep", sweep, "Sweep now", request="empty", response="moved")
    async with ops.serving():
        assert json.loads(await bus.request("lt.ops.reaper.sweep", b"abc", 5)) == {"moved": 3}
        info = json.loads(await bus.request("$SRV.INFO.locktender-reaper", b"", 5))
        assert info["type"] == "io.nats.micro.v1.info_response"
        (endpoint,) = info["endpoints"]
        assert (endpoint["name"], endpoint["subject"]) == ("sweep", "lt.ops.reaper.sweep")
        assert endpoint["metadata"] == {"description": "Sweep now", "request": "empty", "response": "moved"}
        stats = json.loads(await bus.request("$SRV.STATS.locktender-reaper", b"", 5))
        assert stats["endpoints"][0]["data"]["requests"] == 1


async def test_an_error_on_purpose_is_told_and_any_other_is_not(bus: Bus) -> None:
    async def missing(_: bytes) -> Mapping[str, object]:
        raise NotFound("task", 7)

    async def refused(_: bytes) -> Mapping[str, object]:
        raise Rejected([])

    async def bug(_: bytes) -> Mapping[str, object]:
        raise ValueError("postgresql://joe:hunter22@db")

    ops = endpoints(bus)
    for name, operation in (("missing", missing), ("refused", refused), ("bug", bug)):
        ops.add(name, f"lt.ops.{name}", operation, name)
    async with ops.serving():
        answers = {name: await bus.ask(f"lt.ops.{name}", b"", 5) for name in ("missing", "refused", "bug")}
        codes = {name: answer.headers["Nats-Service-Error-Code"] for name, answer in answers.items()}
        assert codes == {"missing": "404", "refused": "400", "bug": "500"}
        assert answers["missing"].headers["Nats-Service-Error"] == "task 7 does not exist"
        stats = await bus.request("$SRV.STATS.locktender-reaper", b"", 5)
        assert b"hunter22" not in stats + answers["bug"].data + str(answers["bug"].headers).encode()


async def test_requests_run_side_by_side_and_finish_before_the_end(bus: Bus) -> None:
    together = asyncio.Barrier(4)

    async def meet(_: bytes) -> Mapping[str, object]:
        await together.wait()
        return {"met": True}

    ops, answers = endpoints(bus), []
    ops.add("meet", "lt.ops.meet", meet, "Meet")

    async def ask() -> None:
        answers.append(await bus.request("lt.ops.meet", b"", 5))

    async with asyncio.TaskGroup() as callers, ops.serving():
        for _ in range(4):
            callers.create_task(ask())
        await eventually(lambda: ops.stats()["meet"]["requests"] == 4)
    assert len(answers) == 4


async def test_a_service_that_stopped_answers_no_more(bus: Bus) -> None:
    async def fine(_: bytes) -> Mapping[str, object]:
        return {}

    ops = endpoints(bus)
    ops.add("fine", "lt.ops.fine", fine, "Fine")
    async with ops.serving():
        await bus.request("lt.ops.fine", b"", 5)
    with pytest.raises(Exception, match="nobody answers"):
        await bus.request("lt.ops.fine", b"", 5)
