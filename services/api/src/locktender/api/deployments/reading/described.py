"""What is read of tasks, in the OpenAPI document."""

from typing import Any

from locktender.api.http.operations import Answer, Operation, Part
from locktender.contracts.deployments.flow import TaskStatus
from locktender.contracts.deployments.models import EventPage, Snapshot, TaskPage
from locktender.contracts.deployments.plan import Plan
from locktender.contracts.deployments.presentation import PresentationTable
from locktender.contracts.deployments.projection import ProjectionList
from locktender.contracts.kernel.ids import NAME_PATTERN
from locktender.contracts.kernel.problems import Problem

TASKS = "/v1/workspaces/{workspace}/deployment-tasks"
TASK = TASKS + "/{taskId}"
PROJECT_TASKS = "/v1/workspaces/{workspace}/projects/{project}/deployment-tasks"

_PARAMETERS: dict[str, dict[str, Any]] = {
    "TaskId": {
        "in": "path", "name": "taskId", "required": True, "schema": {"type": "string", "format": "uuid"},
        "description": "The task.",
    },
    "Project": {
        "in": "path", "name": "project", "required": True,
        "schema": {"type": "string", "pattern": NAME_PATTERN, "maxLength": 63},
        "description": "A group of tasks in the workspace.",
    },
    "Status": {
        "in": "query", "name": "status", "explode": True,
        "schema": {"type": "array", "items": {"type": "string", "enum": [each.value for each in TaskStatus]}},
        "description": "Only tasks in these statuses.",
    },
    "After": {
        "in": "query", "name": "after", "schema": {"type": "integer", "minimum": 0, "maximum": 2**53, "default": 0},
        "description":
            "The revision of the last event known. A page with fewer than `limit` events is the last one so far.",
    },
}  # fmt: skip

PART = Part(
    operations=(
        Operation(
            "get", TASKS, "listDeploymentTasks", "List tasks, newest first",
            (Answer(200, "One page.", "TaskPage"),),
            problems=(Problem.INVALID_REQUEST, Problem.INVALID_CURSOR),
            parameters=("Status", "InProject", "Cursor", "Limit"),
        ),
        Operation(
            "get", TASK, "getDeploymentTask", "Look at a task",
            (Answer(200, "The task as it is now.", "Snapshot", headers=("ETag",)),),
        ),
        Operation(
            "get", TASK + "/events", "listDeploymentEvents", "List the events of a task, oldest first",
            (Answer(200, "Events above the revision.", "EventPage"),),
            problems=(Problem.INVALID_REQUEST,),
            parameters=("After", "Limit"),
        ),
        Operation(
            "get", TASK + "/plan", "getDeploymentPlan", "What the latest run of a task was going to do",
            (Answer(200, "The plan. Until a run has asked the cluster there is none: `not-found`.", "Plan"),),
        ),
        Operation(
            "get", PROJECT_TASKS, "listProjectDeploymentTasks", "Look at the newest tasks of a project",
            (Answer(200, "At most 100, newest first.", "ProjectionList"),),
        ),
        Operation(
            "get", "/v1/presentation", "getPresentation", "How each state of a task is shown",
            (Answer(200, "Every state: label, hue, attention, and what it allows.", "PresentationTable",
                    headers=("ETag",)),),
            guarded=False,
        ),
    ),
    models=(
        (Snapshot, "serialization"),
        (TaskPage, "serialization"),
        (EventPage, "serialization"),
        (Plan, "serialization"),
        (ProjectionList, "serialization"),
        (PresentationTable, "serialization"),
    ),
    parameters=_PARAMETERS,
    in_path={"{taskId}": "TaskId", "{project}": "Project"},
)  # fmt: skip
