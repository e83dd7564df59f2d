"""What the HTTP interface can do, as data: one row an operation. The OpenAPI document is made from it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from pydantic import BaseModel

from locktender.contracts.kernel.problems import Problem

TASKS = "/v1/workspaces/{workspace}/deployment-tasks"
TASK = TASKS + "/{taskId}"
TEMPLATES = "/v1/workspaces/{workspace}/templates"
TEMPLATE = TEMPLATES + "/{template}"
PROJECT_TASKS = "/v1/workspaces/{workspace}/projects/{project}/deployment-tasks"
PROJECT_STREAM = PROJECT_TASKS + "/stream"

JSON = "application/json"
SSE = "text/event-stream"


@dataclass(frozen=True, slots=True)
class Answer:
    """A success. `schema` names a component; `headers` name components, too."""

    status: int
    description: str
    schema: str | None = None
    media_type: str = JSON
    headers: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Operation:
    """One method at one address. `parameters` name components; `guarded` ones need a token and a grant.

    `body` names the component of a JSON body; `bytes_body` is the media type of one that is passed on as it is, which
    `may_be_empty` says need not be there.
    """

    method: str
    path: str
    name: str
    summary: str
    answers: tuple[Answer, ...]
    problems: tuple[Problem, ...] = ()
    parameters: tuple[str, ...] = ()
    body: str | None = None
    bytes_body: str | None = None
    may_be_empty: bool = False
    guarded: bool = True

    def all_problems(self) -> tuple[Problem, ...]:
        """Every problem that this operation can answer with."""
        guard = (Problem.UNAUTHENTICATED, Problem.FORBIDDEN, Problem.NOT_FOUND) if self.guarded else ()
        return tuple(dict.fromkeys((*self.problems, *guard, Problem.INTERNAL, Problem.UNAVAILABLE)))


@dataclass(frozen=True, slots=True)
class Part:
    """What one context adds to the document.

    Attributes:
        models: what reads a body (`validation`) or writes one (`serialization`).
        parameters: components by name, beside those that every context shares.
        in_path: the component of a place in a path, such as `{stack}`.
    """

    operations: tuple[Operation, ...]
    models: tuple[tuple[type[BaseModel], Literal["validation", "serialization"]], ...] = ()
    parameters: Mapping[str, dict[str, Any]] = field(default_factory=dict[str, dict[str, Any]])
    in_path: Mapping[str, str] = field(default_factory=dict[str, str])


_SNAPSHOT = Answer(200, "The task as it is now.", "Snapshot", headers=("ETag",))
_STREAM_TEXT = (
    "Server-sent events; `data` is one line of JSON. A comment every 10 s shows that the stream lives. `degraded` says "
    "that events do not arrive at the moment, `error` that the record cannot be read; the stream goes on in both cases."
)

OPERATIONS = (
    Operation(
        "post", TASKS, "createDeploymentTask", "Deploy",
        (
            Answer(201, "The task was made.", "Snapshot", headers=("ETag", "Location")),
            Answer(200, "The same request made this task before.", "Snapshot", headers=("ETag", "Location")),
        ),
        problems=(
            Problem.INVALID_REQUEST, Problem.IDEMPOTENCY_MISMATCH, Problem.NOT_REDEPLOYABLE, Problem.ALREADY_REDEPLOYED,
            Problem.TOO_LARGE, Problem.UNSUPPORTED_MEDIA_TYPE,
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
        "get", TASKS, "listDeploymentTasks", "List tasks, newest first",
        (Answer(200, "One page.", "TaskPage"),),
        problems=(Problem.INVALID_REQUEST, Problem.INVALID_CURSOR),
        parameters=("Status", "InProject", "Cursor", "Limit"),
    ),
    Operation("get", TASK, "getDeploymentTask", "Look at a task", (_SNAPSHOT,)),
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
        "get", TASK + "/source", "getDeploymentSource", "What a task deploys, as it is stored",
        (Answer(200, "The source without secret values, the target, and how it is applied.", "SourceView"),),
    ),
    Operation(
        "get", TASK + "/redeploy", "getDeploymentRedeploy", "Whether a task can be redeployed, and what that means",
        (Answer(200, "The outlook at this moment. Redeploy by creating a task with `predecessorTaskId`.",
                "RedeployView"),),
    ),
    Operation(
        "post", TASK + "/input", "submitDeploymentInput", "Answer what a blocked task asks for",
        (Answer(200, "The inputs wait for a runner: `resumeRequestedAt` is set until one takes them.", "Snapshot",
                headers=("ETag",)),),
        problems=(
            Problem.INVALID_REQUEST, Problem.NOT_WAITING, Problem.TOO_LARGE, Problem.UNSUPPORTED_MEDIA_TYPE,
        ),
        parameters=("Traceparent",),
        body="SubmitInput",
    ),
    Operation(
        "post", TASK + "/cancel", "cancelDeploymentTask", "Stop a task; what was applied stays",
        (Answer(200, "Cancelled, or told to stop: then `cancelRequestedAt` is set.", "Snapshot", headers=("ETag",)),),
        problems=(Problem.NOT_CANCELLABLE,),
        parameters=("Traceparent",),
    ),
    Operation(
        "patch", TASK + "/canvas-projection", "placeDeploymentTask", "Keep where a canvas shows a task",
        (Answer(200, "The task, with the canvas that it has now.", "Projection", headers=("ETag",)),),
        problems=(
            Problem.INVALID_REQUEST, Problem.NOT_PLACEABLE, Problem.TOO_LARGE, Problem.UNSUPPORTED_MEDIA_TYPE,
        ),
        parameters=("Traceparent",),
        body="PlaceCanvas",
    ),
    Operation(
        "get", TASK + "/timeline/stream", "watchDeploymentTask", "Follow a task",
        (Answer(200, f"{_STREAM_TEXT} Events: `snapshot` and `update` carry a Snapshot and its revision as id, "
                "`removed`, and `end` after the last. `resync` announces a snapshot that replaces all that was told.",
                media_type=SSE),),
        parameters=("LastEventId",),
    ),
    Operation(
        "get", PROJECT_TASKS, "listProjectDeploymentTasks", "Look at the newest tasks of a project",
        (Answer(200, "At most 100, newest first.", "ProjectionList"),),
    ),
    Operation(
        "get", PROJECT_STREAM, "watchProjectDeploymentTasks", "Follow the tasks of a project",
        (Answer(200, f"{_STREAM_TEXT} Events: `snapshot` with `projections`, `upsert` with `projection`, `remove`. "
                "With the last id, the stream goes on from there; where it cannot, `resync` announces a snapshot.",
                media_type=SSE),),
        parameters=("LastEventId",),
    ),
    Operation(
        "get", "/v1/presentation", "getPresentation", "How each state of a task is shown",
        (Answer(200, "Every state: label, hue, attention, and what it allows.", "PresentationTable",
                headers=("ETag",)),),
        guarded=False,
    ),
    Operation(
        "get", TEMPLATES, "listTemplates", "List the templates of the catalogue, or search them",
        (Answer(200, "By name. Broken ones are listed with their fault.", "TemplateList"),),
        problems=(Problem.INVALID_REQUEST,),
        parameters=("Search",),
    ),
    Operation(
        "get", TEMPLATE, "getTemplate", "Look at a template, and at what it asks for",
        (Answer(200, "The template.", "TemplateDetail"),),
        problems=(Problem.INVALID_REQUEST,),
    ),
    Operation(
        "get", TEMPLATE + "/schema", "getTemplateSchema", "The JSON Schema (2020-12) of the inputs of a template",
        (Answer(200, "The schema. Secret inputs are `writeOnly`."),),
        problems=(Problem.INVALID_REQUEST,),
    ),
    Operation(
        "post", TEMPLATE + ":render", "renderTemplate", "What a template would come to; nothing is kept",
        (Answer(200, "The documents, with a provisional name and without secret values.", "RenderedTemplate"),),
        problems=(Problem.INVALID_REQUEST, Problem.TOO_LARGE, Problem.UNSUPPORTED_MEDIA_TYPE),
        body="RenderTemplate",
    ),
    Operation(
        "get", "/healthz", "isAlive", "Is the process alive?", (Answer(200, "It is.", "Alive"),), guarded=False
    ),
    Operation(
        "get", "/readyz", "isReady", "Can the process serve?",
        (Answer(200, "It can.", "Ready"), Answer(503, "It cannot; each check says why.", "Ready")), guarded=False,
    ),
    Operation("get", "/openapi", "getOpenApi", "This document", (Answer(200, "OpenAPI 3.1."),), guarded=False),
)  # fmt: skip
