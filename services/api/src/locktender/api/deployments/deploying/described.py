"""How tasks are made, in the OpenAPI document."""

from typing import Any

from locktender.api.deployments.reading.described import TASK, TASKS
from locktender.api.http.operations import Answer, Operation, Part
from locktender.contracts.deployments.models import CreateTask
from locktender.contracts.deployments.plan import Preview
from locktender.contracts.deployments.redeploy import RedeployView, SourceView
from locktender.contracts.kernel.problems import Problem

_PARAMETERS: dict[str, dict[str, Any]] = {
    "Client": {
        "in": "header", "name": "Locktender-Client", "schema": {"type": "string", "default": "api"},
        "description": "Where the request comes from: `api`, `cli`, `ui` or `chat`; anything else counts as `api`.",
    },
}  # fmt: skip

PART = Part(
    operations=(
        Operation(
            "post", TASKS, "createDeploymentTask", "Deploy",
            (
                Answer(201, "The task was made.", "Snapshot", headers=("ETag", "Location")),
                Answer(200, "The same request made this task before.", "Snapshot", headers=("ETag", "Location")),
            ),
            problems=(
                Problem.INVALID_REQUEST, Problem.IDEMPOTENCY_MISMATCH, Problem.NOT_REDEPLOYABLE,
                Problem.ALREADY_REDEPLOYED, Problem.TOO_LARGE, Problem.UNSUPPORTED_MEDIA_TYPE,
            ),
            parameters=("IdempotencyKey", "Client", "Traceparent"),
            body="CreateTask",
        ),
        Operation(
            "post", TASKS + ":preview", "previewDeploymentTask", "Ask what deploying would do; nothing is stored",
            (Answer(200, "What would happen to each document, found out by dry runs, in the order of applying.",
                    "Preview"),),
            problems=(
                Problem.INVALID_REQUEST, Problem.NOT_REDEPLOYABLE, Problem.TOO_LARGE, Problem.UNSUPPORTED_MEDIA_TYPE,
                Problem.CLUSTER_REFUSED,
                Problem.CLUSTER_UNAVAILABLE,
            ),
            body="CreateTask",
        ),
        Operation(
            "get", TASK + "/source", "getDeploymentSource", "What a task deploys, as it is stored",
            (Answer(200, "The source without secret values, the target, and how it is applied.", "SourceView"),),
        ),
        Operation(
            "get", TASK + "/redeploy", "getDeploymentRedeploy", "Whether a task can be redeployed, and what that means",
            (Answer(200, "The outlook at this moment. Redeploy by creating a task with `predecessorTaskId`.",
                    "RedeployView"),),
        ),
    ),
    models=(
        (CreateTask, "validation"),
        (Preview, "serialization"),
        (SourceView, "serialization"),
        (RedeployView, "serialization"),
    ),
    parameters=_PARAMETERS,
)  # fmt: skip
