from collections.abc import AsyncGenerator
from uuid import UUID

import pytest

from locktender.contracts.kernel.errors import Unavailable
from locktender.contracts.kernel.ids import new_id
from locktender.runtime.bus import Bus
from locktender.runtime.clock import SystemClock
from locktender.runtime.custody import Custodian
from locktender.runtime.custody_client import CredentialsLost, CustodyClient
from locktender.testkit.nats_rig import NatsRig, nats_rig

KUBECONFIG = b"token: canary-token-91f3"
TASK = new_id()


class Rows:
    """What Postgres would say."""

    def __init__(self) -> None:
        self.epoch = 1
        self.down = False

    async def verify(self, task_id: UUID, epoch: int) -> str | None:
        if self.down:
            raise Unavailable("the database is away")
        return "acme" if (task_id, epoch) == (TASK, self.epoch) else None


@pytest.fixture
async def rig() -> AsyncGenerator[NatsRig]:
    async with nats_rig() as running:
        yield running


@pytest.fixture
async def bus(rig: NatsRig) -> AsyncGenerator[Bus]:
    connected = await rig.bus("any")
    yield connected
    await connected.close()


@pytest.fixture
def rows() -> Rows:
    return Rows()


@pytest.fixture
async def custodian(bus: Bus, rows: Rows) -> AsyncGenerator[Custodian]:
    custodian = Custodian("api-1", clock=SystemClock(), verify=rows.verify)
    async with custodian.serving(bus):
        custodian.hold(TASK, KUBECONFIG, ttl=60)
        yield custodian


@pytest.mark.usefixtures("custodian")
async def test_the_current_epoch_gets_what_was_held_and_nats_sees_only_ciphertext(rig: NatsRig, bus: Bus) -> None:
    spy, seen = await rig.bus("spy"), []

    async def look(message: object) -> None:
        seen.append(message)

    await spy.subscribe(">", look)
    # The subscription and the request travel on two connections.
    await spy.client.flush()
    client = CustodyClient(bus)
    assert await client.fetch("api-1", TASK, 1, "acme", 5) == KUBECONFIG
    await spy.client.flush()
    assert len(seen) >= 2
    assert not [message for message in seen if b"canary" in message.data]
    await spy.close()


@pytest.mark.usefixtures("custodian")
async def test_a_lost_reply_can_be_asked_for_again_but_only_with_the_same_key(bus: Bus) -> None:
    client = CustodyClient(bus)
    assert await client.fetch("api-1", TASK, 1, "acme", 5) == KUBECONFIG
    assert await client.fetch("api-1", TASK, 1, "acme", 5) == KUBECONFIG
    with pytest.raises(CredentialsLost) as refused:
        await CustodyClient(bus).fetch("api-1", TASK, 1, "acme", 5)
    assert refused.value.code == "already-answered"


@pytest.mark.usefixtures("custodian")
async def test_an_answer_opens_only_for_the_workspace_it_is_bound_to(bus: Bus) -> None:
    with pytest.raises(CredentialsLost) as refused:
        await CustodyClient(bus).fetch("api-1", TASK, 1, "mallory", 5)
    assert refused.value.code == "unreadable"


@pytest.mark.usefixtures("custodian")
async def test_a_stale_epoch_gets_nothing(bus: Bus, rows: Rows) -> None:
    rows.epoch = 2
    with pytest.raises(CredentialsLost) as refused:
        await CustodyClient(bus).fetch("api-1", TASK, 1, "acme", 5)
    assert refused.value.code == "not-held"
    assert await CustodyClient(bus).fetch("api-1", TASK, 2, "acme", 5) == KUBECONFIG


async def test_a_custodian_that_holds_nothing_and_one_that_is_gone_mean_lost_credentials(
    bus: Bus, custodian: Custodian
) -> None:
    custodian.drop(TASK)
    with pytest.raises(CredentialsLost) as forgotten:
        await CustodyClient(bus).fetch("api-1", TASK, 1, "acme", 5)
    with pytest.raises(CredentialsLost) as gone:
        await CustodyClient(bus, grace=0.2).fetch("api-2", TASK, 1, "acme", 5)
    assert (forgotten.value.code, gone.value.code) == ("unknown", "no-custodian")


@pytest.mark.usefixtures("custodian")
async def test_while_the_epoch_cannot_be_checked_the_credentials_are_not_lost(bus: Bus, rows: Rows) -> None:
    rows.down = True
    with pytest.raises(Unavailable):
        await CustodyClient(bus).fetch("api-1", TASK, 1, "acme", 0.3)
    rows.down = False
    assert await CustodyClient(bus).fetch("api-1", TASK, 1, "acme", 5) == KUBECONFIG


async def test_a_custodian_that_stops_forgets_everything(bus: Bus, rows: Rows) -> None:
    custodian = Custodian("api-9", clock=SystemClock(), verify=rows.verify)
    async with custodian.serving(bus):
        custodian.hold(TASK, KUBECONFIG, ttl=60)
    assert custodian.held_bytes == 0
