"""Answering the same task at two instances of the API: the run gets the winner's values, whoever that is."""

import asyncio
import json
from uuid import UUID

from locktender.contracts.kernel.ids import new_owner
from locktender.runtime.connect import connect_bus
from locktender.runtime.custody_client import CustodyClient
from locktender.testkit import rows
from locktender.testkit.api import kubeconfig, running_api
from locktender.testkit.database import TestDatabase
from locktender.testkit.nats_rig import nats_rig
from locktender.testkit.parked import park
from locktender.testkit.races import at_once
from locktender.testkit.servers import NatsServer

ROUNDS = 100
FORM = {"inputs": [{"key": "title", "required": True}], "message": "a title is needed"}


async def test_of_two_instances_one_wins_and_the_run_asks_that_one(db: TestDatabase) -> None:
    async with nats_rig() as rig:
        bus = await connect_bus(rig, "runner")
        nats = NatsServer("embedded", rig.nats_url, {})
        try:
            async with running_api(db, nats) as one, running_api(db, nats, instance="api-2") as two:
                custody = CustodyClient(bus)

                async def race(task_id: UUID) -> None:
                    async with asyncio.TaskGroup() as group:
                        both = [
                            group.create_task(
                                api.http.post(
                                    api.path(f"/{task_id}/input"),
                                    json={"values": {"title": title}, "kubeconfig": kubeconfig()},
                                )
                            )
                            for api, title in ((one, "One"), (two, "Two"))
                        ]
                    statuses = [each.result().status_code for each in both]
                    assert sorted(statuses) == [200, 409]
                    [claimed] = await db.writes.claim([task_id], new_owner("runner-1"), 60)
                    assert claimed.custodian is not None
                    payload = await custody.fetch(claimed.custodian, task_id, claimed.lease.epoch, "acme", 10)
                    assert json.loads(payload)["inputs"] == {"title": ("One", "Two")[statuses.index(200)]}

                tasks = [await park(db, await rows.created(db, runner="direct"), FORM) for _ in range(ROUNDS)]
                await at_once(race, tasks)
                # Whoever lost has forgotten at once what it was given.
                one_payload = json.dumps({"kubeconfig": kubeconfig(), "secrets": {}, "inputs": {"title": "One"}})
                held = one.api.deployments.custodian.held_bytes + two.api.deployments.custodian.held_bytes
                assert held == ROUNDS * len(one_payload)
        finally:
            await bus.close()
