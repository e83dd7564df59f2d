"""Headers in one block arrive as headers written one by one do, and cannot begin a line of their own."""

from collections.abc import AsyncGenerator

import pytest
from nats.errors import BadHeaderError

from locktender.runtime.header_block import HeaderBlock
from locktender.testkit.nats_rig import NatsRig, eventually, nats_rig


@pytest.fixture
async def rig() -> AsyncGenerator[NatsRig]:
    async with nats_rig() as running:
        yield running


async def test_a_block_arrives_as_the_headers_that_it_holds(rig: NatsRig) -> None:
    bus = await rig.bus("api")
    heard: list[dict[str, str]] = []

    async def hear(message: object) -> None:
        heard.append(dict(getattr(message, "headers", None) or {}))

    await bus.subscribe("there", hear)
    await bus.client.flush()
    await bus.client.flush()
    given = {"ce-id": "1", "ce-type": "größe", "Nats-Msg-Id": "x y"}
    await bus.client.publish("there", b"body", headers=given)
    await bus.client.publish("there", b"body", headers=HeaderBlock(given))
    await eventually(lambda: len(heard) == 2)
    assert heard == [given, given]
    await bus.close()


@pytest.mark.parametrize("value", ["a\r\nb: c", "a\nb", "a\rb", "\r\n"])
def test_a_value_with_a_line_break_is_refused(value: str) -> None:
    with pytest.raises(BadHeaderError):
        HeaderBlock({"ce-id": value}).encode()
