"""Deployments that ask and are asked again: templates, answers and redeploys, as a patient caller of a system."""

import asyncio
from http import HTTPStatus
from typing import Any
from uuid import uuid4

from locktender.contracts.deployments.flow import DEPLOYMENT_TASK
from locktender.testkit.system import PATIENCE, SystemRig, tasks

_RESOURCES = (
    "/api/v1/namespaces/default/secrets",
    "/api/v1/namespaces/default/configmaps",
    "/api/v1/namespaces/default/services",
    "/apis/apps/v1/namespaces/default/deployments",
)
_ASKED_AGAIN = 5
"""More often than that, no run that is well asks for the same values."""


async def deploy_template(
    rig: SystemRig, text: str, inputs: dict[str, str] | None = None, *, kubeconfig: str | None = None, **more: Any
) -> str:
    """Ask for the deployment of an inline template until the API has taken it; the id of the task.

    `more` are further members of the request.
    """
    return await _created(
        rig,
        {
            "source": {"kind": "template", "text": text},
            "target": {"project": "chaos", "namespace": "default"},
            "inputs": inputs or {},
            "kubeconfig": kubeconfig or rig.kubeconfig,
        }
        | more,
    )


async def redeploy(rig: SystemRig, before: str, inputs: dict[str, str] | None = None, **more: Any) -> str:
    """Redeploy a task until the API has taken it; the id of the new task."""
    body = {"predecessorTaskId": before, "inputs": inputs or {}, "kubeconfig": rig.kubeconfig}
    return await _created(rig, body | more)


async def parked(rig: SystemRig, task_id: str) -> dict[str, Any]:
    """The snapshot of the task once it waits for a person, or has ended."""
    async with asyncio.timeout(PATIENCE):
        while True:
            snapshot = await rig.until(task_id, "blocked", *DEPLOYMENT_TASK.terminal)
            if snapshot["task"]["resumeRequestedAt"] is None:
                return snapshot
            await asyncio.sleep(0.1)


async def answer(rig: SystemRig, task_id: str, values: dict[str, str], *, kubeconfig: str | None = None) -> None:
    """Submit values until the run has them.

    An API that died may have recorded a submission whose values died with it. Then the run asks for them once more. Or
    it died after the run had taken them, and the task has moved on.

    Raises:
        AssertionError: the API refused the values, or the run asked for ever.
    """
    body = {"values": values, "kubeconfig": kubeconfig or rig.kubeconfig}
    for _ in range(_ASKED_AGAIN):
        response = await rig.ask("POST", tasks(f"/{task_id}/input"), json=body)
        if response.status_code == HTTPStatus.OK:
            return
        assert response.status_code == HTTPStatus.CONFLICT, response.text
        snapshot = await parked(rig, task_id)
        if snapshot["task"]["status"] != "blocked":
            return
    raise AssertionError(f"task {task_id} does not take its inputs")


async def instances(rig: SystemRig, stem: str) -> list[str]:
    """The names of all instances of `template(stem)` that anything in the cluster belongs to."""
    names: set[str] = set()
    for path in _RESOURCES:
        _, found = await rig.cluster.request("GET", path)
        names |= {item["metadata"]["name"] for item in found["items"]}
    return sorted(name for name in names if name.startswith(f"{stem}-"))


async def let_retention_pass(rig: SystemRig, task_id: str) -> None:
    """Make a task that is over end long ago, which no writer of the product can do."""
    async with rig.sql() as connection, connection.transaction():
        await connection.execute("set local session_replication_role = replica")
        await connection.execute(
            "update locktender.deployment_task set completed_at = completed_at - interval '90 days' where id = $1",
            task_id,
        )


async def _created(rig: SystemRig, body: dict[str, Any]) -> str:
    response = await rig.ask("POST", tasks(), json=body, headers={"Idempotency-Key": uuid4().hex})
    assert response.status_code in {HTTPStatus.CREATED, HTTPStatus.OK}, response.text
    return response.json()["task"]["id"]
