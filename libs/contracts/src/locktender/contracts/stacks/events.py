"""The events of stacks and of their deployments, the hints for runners, and what travels of logs."""

from datetime import datetime
from typing import Literal
from uuid import UUID

from pydantic import BaseModel, ConfigDict, RootModel
from pydantic.alias_generators import to_camel

from locktender.contracts.stacks.flow import STACK_DEPLOYMENT, DeploymentStatus
from locktender.contracts.stacks.vocabulary import DeploymentMode

CONTEXT = "stacks"
CREATED = "created"

KINDS: tuple[str, ...] = tuple(
    dict.fromkeys([CREATED, *(step.event for step in STACK_DEPLOYMENT.transitions if step.event)])
)
"""Every kind that a deployment tells, from its transition table."""

STACK_CREATED, STACK_UPDATED, STACK_DELETED = "stack-created", "stack-updated", "stack-deleted"
STACK_UNCERTAIN, STACK_CERTAIN = "stack-uncertain", "stack-certain"
STACK_KINDS = (STACK_CREATED, STACK_UPDATED, STACK_UNCERTAIN, STACK_CERTAIN, STACK_DELETED)
"""Every kind that a stack tells; `stack-deleted` is the tombstone, the last a stack ever sends."""

OFFSET_HEADER = "lt-offset"
"""Of a piece of a log: where in the log its first byte stands."""


class _Fact(BaseModel):
    model_config = ConfigDict(defer_build=True, alias_generator=to_camel, populate_by_name=True, frozen=True)


class StackDeploymentEvent(_Fact):
    """The body of `lt.evt.<workspace>.stacks.<deployment>.<kind>`: facts only; the rest is read from the API.

    Consumers drop an event whose `revision` is not above the last one they saw.
    """

    id: UUID
    workspace: str
    stack_id: UUID
    number: int
    mode: DeploymentMode
    status: DeploymentStatus
    revision: int
    reason: str | None = None
    at: datetime


class StackEvent(_Fact):
    """The body of `lt.evt.<workspace>.stacks.<stack>.stack-<kind>`: that the stack itself has changed."""

    id: UUID
    workspace: str
    project: str
    name: str
    status: Literal["live", "deleted"]
    revision: int
    reason: str | None = None
    at: datetime


class RunCommand(_Fact):
    """The body of `lt.cmd.run.<group>`: a hint that this run can be taken over. The row decides."""

    id: UUID


class LogPiece(RootModel[bytes]):
    """The body of `lt.log.<run>`: the bytes as the runner sent them. None at all: the run has ended."""
