"""A thousand documents: few writes, true cards, and an end in the middle."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator

import pytest

from locktender.contracts.deployments.models import ApplyState, FailureReason
from locktender.runtime.abort import AbortReason
from locktender.testkit.cluster import SandboxCluster, sandbox_cluster
from locktender.testkit.nats_rig import eventually
from locktender.testkit.recorded_run import RecordedRun, direct_executor, work_for
from locktender.testkit.runner import config_maps

MANY = 1_000


@pytest.fixture(scope="module")
async def sandbox() -> AsyncIterator[SandboxCluster]:
    async with sandbox_cluster(process=True) as running:
        yield running


@pytest.fixture
async def cluster(sandbox: SandboxCluster) -> SandboxCluster:
    await sandbox.reset()
    return sandbox


async def effects(cluster: SandboxCluster) -> set[str]:
    return {entry["name"] for entry in await cluster.ledger() if entry["task"] and not entry["dryRun"]}


async def hits(cluster: SandboxCluster, rule: int) -> int:
    return (await cluster.fault_table())["rules"][rule]["hits"]


async def test_a_thousand_documents_take_few_writes_and_every_card_is_true(cluster: SandboxCluster) -> None:
    run = RecordedRun()
    await run.carry_out(direct_executor(), work_for(config_maps(MANY), cluster.kubeconfig))
    assert run.status == "completed", run.failure
    assert {card.apply for card in run.timeline.cards} == {ApplyState.APPLIED}
    assert len(await effects(cluster)) == MANY
    announcements = [message for message in run.messages if message.startswith("applying")]
    assert len(announcements) <= 60
    assert announcements[1] == "applying ConfigMap c17 and 16 more (18 to 34 of 1000)"
    # What is under way at any write is one group: the rest is pending or done.
    for write in run.writes:
        assert Counter(card.apply for card in write.timeline.cards)[ApplyState.APPLYING] <= 17


async def test_a_cancel_in_the_middle_of_a_group_leaves_every_card_true(cluster: SandboxCluster) -> None:
    slow = {"verb": "patch", "name": "c5"}
    await cluster.faults(slow | {"count": 1}, slow | {"latency": 1.0})
    run = RecordedRun()
    async with asyncio.TaskGroup() as group:
        work = work_for(config_maps(180), cluster.kubeconfig)
        group.create_task(run.carry_out(direct_executor(at_once=2), work))
        await eventually(lambda: hits(cluster, 1), 60)
        run.signal.trip(AbortReason.CANCELLED)
    assert run.status == "aborted"
    states = {card.ref.name: card.apply for card in run.timeline.cards}
    applied = {name for name, state in states.items() if state is ApplyState.APPLIED}
    # What was under way was given the moment that its answer took.
    assert states["c5"] is ApplyState.APPLIED
    assert applied == await effects(cluster)
    assert {state for name, state in states.items() if name not in applied} == {ApplyState.PENDING}


async def test_the_first_document_that_is_refused_stops_the_others_of_its_group(cluster: SandboxCluster) -> None:
    refused = {"verb": "patch", "name": "c3"}
    await cluster.faults(refused | {"count": 1}, refused | {"status": 422, "message": "no such colour"})
    run = RecordedRun()
    await run.carry_out(direct_executor(at_once=2), work_for(config_maps(180), cluster.kubeconfig))
    assert run.failure is not None
    assert run.failure[:2] == (FailureReason.INVALID_MANIFEST, "apply")
    states = {card.ref.name: card.apply for card in run.timeline.cards}
    applied = {name for name, state in states.items() if state is ApplyState.APPLIED}
    assert states["c3"] is ApplyState.REFUSED
    assert len(applied) < 8
    assert applied == await effects(cluster) - {"c3"}
    assert {state for name, state in states.items() if name not in {*applied, "c3"}} == {ApplyState.PENDING}
