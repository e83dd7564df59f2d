"""The stream of a deployment in the OpenAPI document."""

from typing import Any

from locktender.api.http.operations import SSE, Answer, Operation, Part

_PARAMETERS: dict[str, dict[str, Any]] = {
    "DeploymentNumber": {
        "in": "path", "name": "number", "required": True, "schema": {"type": "integer", "minimum": 1},
        "description": "Counts the deployments of a stack.",
    },
}  # fmt: skip

PART = Part(
    operations=(
        Operation(
            "get", "/v1/workspaces/{workspace}/stacks/{stack}/deployments/{number}/stream", "watchStackDeployment",
            "Follow a deployment of a stack",
            (Answer(200, "Server-sent events; `data` is one line of JSON. `snapshot` and `update` carry a "
                    "DeploymentView and its revision as id; `end` comes after the last, `removed` when it is gone. "
                    "Whoever connects, or comes back with any last id, is told a snapshot at once. `degraded` says "
                    "that events do not arrive at the moment, until the next snapshot; `error` that the record cannot "
                    "be read. The stream goes on in both cases. Comments show that it lives.", media_type=SSE),),
            parameters=("LastEventId",),
        ),
    ),
    parameters=_PARAMETERS,
    in_path={"{number}": "DeploymentNumber"},
)  # fmt: skip
"""Deployments, followed."""
