"""What runs found out, in the OpenAPI document."""

from typing import Any

from locktender.api.http.operations import Answer, Operation, Part
from locktender.contracts.kernel.problems import Problem
from locktender.contracts.stacks.analysis import PlanChanges, ResourceGraph, StateInventory
from locktender.contracts.stacks.inventory import (
    LONGEST_ADDRESS,
    MOST_ADDRESSES,
    StackGraph,
    StackOutputs,
    StackResources,
)
from locktender.contracts.stacks.views import PlanNumbers

STACK = "/v1/workspaces/{workspace}/stacks/{stack}"
RUN = STACK + "/deployments/{number}/runs/{runId}"

_PARAMETERS: dict[str, dict[str, Any]] = {
    "DeploymentNumber": {
        "in": "path", "name": "number", "required": True, "schema": {"type": "integer", "minimum": 1},
        "description": "Counts the deployments of a stack.",
    },
    "RunId": {
        "in": "path", "name": "runId", "required": True, "schema": {"type": "string", "format": "uuid"},
        "description": "A run of the deployment.",
    },
    "ResourceAddress": {
        "in": "query", "name": "address", "explode": True,
        "schema": {
            "type": "array", "maxItems": MOST_ADDRESSES,
            "items": {"type": "string", "minLength": 1, "maxLength": LONGEST_ADDRESS},
        },
        "description": "Only these resources, with their values; without it all of them, without.",
    },
}  # fmt: skip
_KEPT = "It never changes and may be cached. `not-found` where the run has not told it, which is not the same as none."

PART = Part(
    operations=(
        Operation(
            "get", STACK + "/resources", "listStackResources", "What the state of a stack holds",
            (Answer(200, "As the newest run that looked found it. Where `known` is false, `resources` is null.",
                    "StackResources"),),
            problems=(Problem.INVALID_REQUEST,), parameters=("ResourceAddress",),
        ),
        Operation(
            "get", STACK + "/outputs", "listStackOutputs", "The outputs of a stack, sensitive ones withheld",
            (Answer(200, "As the newest run that looked found them. Where `known` is false, `outputs` is null.",
                    "StackOutputs"),),
        ),
        Operation(
            "get", STACK + "/graph", "getStackGraph", "How the resources of a stack depend on each other",
            (Answer(200, "As the newest plan of the stack's own source found it. Where `known` is false, `graph` is "
                    "null.", "StackGraph"),),
        ),
        Operation(
            "get", RUN + "/plan-summary", "getRunPlanSummary", "The plan of a run in numbers, with their gaps",
            (Answer(200, _KEPT, "PlanNumbers", headers=("ETag",)),),
        ),
        Operation(
            "get", RUN + "/plan-changes", "getRunPlanChanges", "What the plan of a run would do",
            (Answer(200, _KEPT, "PlanChanges", headers=("ETag",)),), problems=(Problem.REMOVED,),
        ),
        Operation(
            "get", RUN + "/state-resources", "getRunStateResources", "The state that a run found, or an apply left",
            (Answer(200, _KEPT, "StateInventory", headers=("ETag",)),), problems=(Problem.REMOVED,),
        ),
        Operation(
            "get", RUN + "/resource-graph", "getRunResourceGraph", "The graph of the configuration that a run planned",
            (Answer(200, _KEPT, "ResourceGraph", headers=("ETag",)),), problems=(Problem.REMOVED,),
        ),
    ),
    models=(
        (StackResources, "serialization"),
        (StackOutputs, "serialization"),
        (StackGraph, "serialization"),
        (PlanNumbers, "serialization"),
        (PlanChanges, "serialization"),
        (StateInventory, "serialization"),
        (ResourceGraph, "serialization"),
    ),
    parameters=_PARAMETERS,
    in_path={"{number}": "DeploymentNumber", "{runId}": "RunId"},
)  # fmt: skip
"""What people read of plans, inventories and graphs."""
