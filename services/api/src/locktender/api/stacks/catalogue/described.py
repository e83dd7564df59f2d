"""Stacks in the OpenAPI document."""

from typing import Any

from locktender.api.http.operations import Answer, Operation, Part
from locktender.api.stacks.catalogue.controller import LONGEST_SEARCH
from locktender.contracts.kernel.ids import NAME_PATTERN
from locktender.contracts.kernel.problems import Problem
from locktender.contracts.stacks.flow import DeploymentStatus
from locktender.contracts.stacks.requests import StackCreate, StackUpdate
from locktender.contracts.stacks.views import StackDeleted, StackPage, StackView
from locktender.storage.stacks.reads import StackSort

STACKS = "/v1/workspaces/{workspace}/stacks"
STACK = STACKS + "/{stack}"

_WRITTEN = (Problem.INVALID_REQUEST, Problem.SOURCE_REFUSED, Problem.TOO_LARGE, Problem.UNSUPPORTED_MEDIA_TYPE)
_PARAMETERS: dict[str, dict[str, Any]] = {
    "Stack": {
        "in": "path", "name": "stack", "required": True,
        "schema": {"type": "string", "pattern": NAME_PATTERN, "maxLength": 63},
        "description": "The name of a stack of the workspace.",
    },
    "StackStatus": {
        "in": "query", "name": "status", "explode": True,
        "schema": {"type": "array", "items": {"type": "string", "enum": [each.value for each in DeploymentStatus]}},
        "description": "Only stacks whose newest deployment is in one of these statuses.",
    },
    "StackSort": {
        "in": "query", "name": "sort",
        "schema": {"type": "string", "enum": [each.value for each in StackSort], "default": "created"},
        "description": "`created`: newest first. `activity`: newest deployment first. `name`: from a to z.",
    },
    "StackSearch": {
        "in": "query", "name": "search", "schema": {"type": "string", "minLength": 1, "maxLength": LONGEST_SEARCH},
        "description": "Only stacks with this in their name.",
    },
}  # fmt: skip

PART = Part(
    operations=(
        Operation(
            "post", STACKS, "createStack", "Make a stack",
            (Answer(201, "The stack was made.", "StackView", headers=("ETag", "Location")),),
            problems=(*_WRITTEN, Problem.NAME_TAKEN), parameters=("Traceparent",), body="StackCreate",
        ),
        Operation(
            "get", STACKS, "listStacks", "List the stacks of a workspace",
            (Answer(200, "One page.", "StackPage"),),
            problems=(Problem.INVALID_REQUEST, Problem.INVALID_CURSOR),
            parameters=("StackStatus", "InProject", "StackSearch", "StackSort", "Cursor", "Limit"),
        ),
        Operation(
            "get", STACK, "getStack", "Look at a stack: its lane, its state, its newest deployment",
            (Answer(200, "The stack as it is now.", "StackView", headers=("ETag",)),),
        ),
        Operation(
            "patch", STACK, "updateStack", "Change a stack; deployments that are there keep what they were made with",
            (Answer(200, "The stack as it is now.", "StackView", headers=("ETag",)),),
            problems=_WRITTEN, parameters=("Traceparent",), body="StackUpdate",
        ),
        Operation(
            "delete", STACK, "deleteStack", "Forget a stack; what it made in the world stays",
            (Answer(200, "It is no more, and its name is free.", "StackDeleted"),),
            problems=(Problem.STACK_BUSY,), parameters=("Traceparent",),
        ),
    ),
    models=(
        (StackCreate, "validation"),
        (StackUpdate, "validation"),
        (StackView, "serialization"),
        (StackPage, "serialization"),
        (StackDeleted, "serialization"),
    ),
    parameters=_PARAMETERS,
    in_path={"{stack}": "Stack"},
)  # fmt: skip
"""Making, changing, listing and deleting."""
