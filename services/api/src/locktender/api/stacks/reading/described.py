"""Deployments of stacks in the OpenAPI document."""

from typing import Any

from locktender.api.http.operations import Answer, Operation, Part
from locktender.contracts.kernel.problems import Problem
from locktender.contracts.stacks.flow import DeploymentStatus
from locktender.contracts.stacks.presentation import StackPresentationTable
from locktender.contracts.stacks.queue import QueueView
from locktender.contracts.stacks.views import ActivityTrail, DeploymentPage, DeploymentView
from locktender.contracts.stacks.vocabulary import DeploymentMode

DEPLOYMENTS = "/v1/workspaces/{workspace}/stacks/{stack}/deployments"
DEPLOYMENT = DEPLOYMENTS + "/{number}"

_PARAMETERS: dict[str, dict[str, Any]] = {
    "DeploymentNumber": {
        "in": "path", "name": "number", "required": True, "schema": {"type": "integer", "minimum": 1},
        "description": "Counts the deployments of a stack.",
    },
    "StackDeploymentStatus": {
        "in": "query", "name": "status", "explode": True,
        "schema": {"type": "array", "items": {"type": "string", "enum": [each.value for each in DeploymentStatus]}},
        "description": "Only deployments in these statuses.",
    },
    "StackDeploymentMode": {
        "in": "query", "name": "mode", "explode": True,
        "schema": {"type": "array", "items": {"type": "string", "enum": [each.value for each in DeploymentMode]}},
        "description": "Only deployments of these modes.",
    },
}  # fmt: skip

PART = Part(
    operations=(
        Operation(
            "get", DEPLOYMENTS, "listStackDeployments", "List the deployments of a stack, newest first",
            (Answer(200, "One page.", "DeploymentPage"),),
            problems=(Problem.INVALID_REQUEST, Problem.INVALID_CURSOR),
            parameters=("StackDeploymentStatus", "StackDeploymentMode", "Cursor", "Limit"),
        ),
        Operation(
            "get", DEPLOYMENT, "getStackDeployment", "Look at a deployment, its steps and runs",
            (Answer(200, "The deployment as it is now.", "DeploymentView", headers=("ETag",)),),
        ),
        Operation(
            "get", DEPLOYMENT + "/activity", "listStackActivity", "Who did what to a deployment, and how it ended",
            (Answer(200, "Oldest first; the latest thousand acts.", "ActivityTrail"),),
        ),
        Operation(
            "get", "/v1/workspaces/{workspace}/stack-queue", "getStackQueue", "What waits in a workspace, and why",
            (Answer(200, "In the order in which it is served.", "QueueView"),),
            problems=(Problem.INVALID_REQUEST,), parameters=("Limit",),
        ),
        Operation(
            "get", "/v1/stack-presentation", "getStackPresentation", "How each state of a deployment is shown",
            (Answer(200, "Every state: label, hue, attention, and what it allows.", "StackPresentationTable",
                    headers=("ETag",)),),
            guarded=False,
        ),
    ),
    models=(
        (DeploymentPage, "serialization"),
        (DeploymentView, "serialization"),
        (ActivityTrail, "serialization"),
        (QueueView, "serialization"),
        (StackPresentationTable, "serialization"),
    ),
    parameters=_PARAMETERS,
    in_path={"{number}": "DeploymentNumber"},
)  # fmt: skip
"""What people read of deployments."""
