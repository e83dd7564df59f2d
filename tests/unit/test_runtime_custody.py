import base64
import json
from uuid import UUID

import pytest
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from locktender.contracts.kernel.errors import Rejected, Unavailable
from locktender.contracts.kernel.ids import new_id
from locktender.runtime.custody import REPEAT_SECONDS, Custodian, CustodyLimits
from locktender.runtime.custody_wire import SUITE, CustodyRequest, binding
from locktender.testkit.clock import FakeClock

TASK = new_id()
KEY = X25519PrivateKey.generate()
PUBLIC = KEY.public_key().public_bytes_raw()


async def current(_task: UUID, epoch: int) -> str | None:
    return "acme" if epoch == 1 else None


def custodian(clock: FakeClock, **limits: int) -> Custodian:
    return Custodian("api-1", clock=clock, verify=current, limits=CustodyLimits(**limits))


async def code(custodian: Custodian, body: bytes) -> str:
    headers, answer = await custodian.answer(body)
    assert headers == {"lt-custody": "refused"}
    return json.loads(answer)["error"]


async def test_the_answer_is_sealed_for_the_key_and_bound_to_workspace_task_and_epoch() -> None:
    held = custodian(FakeClock())
    held.hold(TASK, b"secret", 60)
    headers, answer = await held.answer(CustodyRequest(TASK, 1, PUBLIC).encode())
    assert headers == {"lt-custody": "sealed"}
    assert SUITE.decrypt(answer, KEY, info=binding("acme", TASK, 1)) == b"secret"


async def test_the_same_key_may_ask_again_for_a_short_time_only() -> None:
    clock = FakeClock()
    held = custodian(clock)
    held.hold(TASK, b"secret", 600)
    request = CustodyRequest(TASK, 1, PUBLIC).encode()
    assert (await held.answer(request))[0] == {"lt-custody": "sealed"}
    clock.advance(REPEAT_SECONDS)
    assert (await held.answer(request))[0] == {"lt-custody": "sealed"}
    clock.advance(0.1)
    assert await code(held, request) == "already-answered"


async def test_what_is_held_is_gone_when_its_time_is_over() -> None:
    clock = FakeClock()
    held = custodian(clock)
    held.hold(TASK, b"secret", 60)
    clock.advance(60)
    assert await code(held, CustodyRequest(TASK, 1, PUBLIC).encode()) == "unknown"
    assert held.held_bytes == 0


async def test_dropping_overwrites_the_memory() -> None:
    held = custodian(FakeClock())
    held.hold(TASK, b"secret", 60)
    memory = held._items[TASK].secrets
    held.drop(TASK)
    assert memory == bytes(6)


def test_a_full_custodian_refuses_and_room_comes_back() -> None:
    held = custodian(FakeClock(), total_bytes=10)
    held.hold(TASK, b"12345678", 60)
    with pytest.raises(Unavailable):
        held.hold(new_id(), b"123", 60)
    held.hold(TASK, b"1234567890", 60)
    held.drop(TASK)
    held.hold(new_id(), b"123", 60)


def test_more_than_a_message_carries_is_refused() -> None:
    with pytest.raises(Rejected):
        custodian(FakeClock(), item_bytes=4).hold(TASK, b"12345", 60)


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"[]",
        b"{}",
        b"\xff",
        b"[" * 5000,
        json.dumps({"id": "x", "epoch": 1, "key": base64.b64encode(PUBLIC).decode()}).encode(),
        json.dumps({"id": str(TASK), "epoch": True, "key": base64.urlsafe_b64encode(PUBLIC).decode()}).encode(),
        json.dumps({"id": str(TASK), "epoch": 0, "key": base64.urlsafe_b64encode(PUBLIC).decode()}).encode(),
        json.dumps({"id": str(TASK), "epoch": 1, "key": "AAAA"}).encode(),
        json.dumps({"id": str(TASK), "epoch": 1, "key": 5}).encode(),
        CustodyRequest(TASK, 1, bytes(32)).encode(),
    ],
    ids=range(11),
)
async def test_a_request_that_cannot_be_read_is_refused(body: bytes) -> None:
    held = custodian(FakeClock())
    held.hold(TASK, b"secret", 60)
    assert await code(held, body) == "malformed"


def test_no_two_bindings_are_confused() -> None:
    assert binding("a", TASK, 11) != binding("a1", TASK, 1)
    assert len({binding(workspace, TASK, epoch) for workspace in ("a", "b") for epoch in (1, 2)}) == 4
