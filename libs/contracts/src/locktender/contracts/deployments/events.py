"""The events of a deployment task: their kinds, the facts that travel, and what each says to people."""

from datetime import datetime
from uuid import UUID

from locktender.contracts.deployments.flow import DEPLOYMENT_TASK, TaskPhase, TaskStatus
from locktender.contracts.deployments.models import Wire

CONTEXT = "deployments"
CREATED = "created"
REMOVED = "removed"

KINDS: tuple[str, ...] = tuple(
    dict.fromkeys([CREATED, *(step.event for step in DEPLOYMENT_TASK.transitions if step.event), REMOVED])
)
"""Every kind, from the transition table; `removed` is the tombstone, the last a task ever sends."""


class TaskEvent(Wire):
    """The body of `lt.evt.<workspace>.deployments.<id>.<kind>`: facts only; the rest is read from the API.

    Consumers drop an event whose `revision` is not above the last one they saw, and everything after `removed`.
    """

    id: UUID
    workspace: str
    project: str
    phase: TaskPhase
    status: TaskStatus
    epoch: int
    revision: int
    reason: str | None = None
    at: datetime


class DeploymentCommand(Wire):
    """The body of `lt.cmd.deployment.<runner>`: a hint that this task can be claimed. The row decides."""

    id: UUID
