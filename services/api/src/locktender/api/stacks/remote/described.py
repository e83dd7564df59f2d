"""Remote runners in the OpenAPI document."""

from typing import Any

from locktender.api.http.operations import Answer, Operation, Part
from locktender.api.stacks.runs.described import RUN
from locktender.contracts.kernel.ids import NAME_PATTERN
from locktender.contracts.kernel.problems import Problem
from locktender.contracts.stacks.pools import RunnerGroupList, RunnerGroupMade, RunnerGroupView
from locktender.contracts.stacks.remote import AcceptRun, DispatchFailed, PollRuns
from locktender.contracts.stacks.requests import RunnerGroupCreate, RunnerGroupUpdate, TokenRotation
from locktender.contracts.stacks.wire import Accepted, Offer

GROUPS = "/v1/runner-groups"
POOLS = "/v1/workspaces/{workspace}/runner-groups"
POOL = POOLS + "/{group}"
_WRITE = (Problem.INVALID_REQUEST, Problem.TOO_LARGE, Problem.UNSUPPORTED_MEDIA_TYPE)
_BODY = (Problem.UNAUTHENTICATED, *_WRITE)
_PARAMETERS: dict[str, dict[str, Any]] = {
    "RunnerGroup": {
        "in": "path", "name": "group", "required": True,
        "schema": {"type": "string", "pattern": NAME_PATTERN, "maxLength": 63}, "description": "A runner group.",
    },
    "RunnerId": {
        "in": "path", "name": "runnerId", "required": True, "schema": {"type": "string", "format": "uuid"},
        "description": "A remote runner.",
    },
}  # fmt: skip

PART = Part(
    operations=(
        Operation(
            "post", GROUPS + "/poll", "pollRuns", "Ask for a run; the token of the runner group is the bearer token",
            (
                Answer(200, "A run is promised to this runner: accept it in time.", "Offer"),
                Answer(204, "Nothing waits for this runner."),
            ),
            problems=(*_BODY, Problem.NOT_FOUND), body="PollRuns", guarded=False,
        ),
        Operation(
            "post", GROUPS + "/dispatch-failed", "reportDispatchFailed",
            "Say that no runner could be started for an offer; its run fails",
            (Answer(204, "The run has failed."),),
            problems=(*_BODY, Problem.NOT_FOUND, Problem.NOT_ASSIGNED), parameters=("Traceparent",),
            body="DispatchFailed", guarded=False,
        ),
        Operation(
            "post", RUN + "/accept", "acceptRun", "Take a run over; the assignment of the offer is the bearer token",
            (Answer(200, "The run and its token. The same request again gets the same answer.", "Accepted"),),
            problems=(*_BODY, Problem.NOT_FOUND, Problem.NOT_ASSIGNED), parameters=("Traceparent",), body="AcceptRun",
            guarded=False,
        ),
        Operation(
            "get", POOLS, "listRunnerGroups", "List the runner groups of a workspace, with their runners",
            (Answer(200, "All groups, by name.", "RunnerGroupList"),),
        ),
        Operation(
            "post", POOLS, "createRunnerGroup", "Make a runner group",
            (Answer(201, "The group, and its token: this is the only time that it is shown.", "RunnerGroupMade",
                    headers=("Location",)),),
            problems=(*_WRITE, Problem.NAME_TAKEN), body="RunnerGroupCreate",
        ),
        Operation(
            "get", POOL, "getRunnerGroup", "Look at a runner group and its runners",
            (Answer(200, "The group.", "RunnerGroupView"),),
        ),
        Operation(
            "patch", POOL, "updateRunnerGroup", "Change the labels or the room of a runner group",
            (Answer(200, "The group. What its runners do already goes on.", "RunnerGroupView"),),
            problems=_WRITE, body="RunnerGroupUpdate",
        ),
        Operation(
            "post", POOL + "/rotate-token", "rotateRunnerGroupToken", "Give a runner group another token",
            (Answer(200, "The group, and its new token: this is the only time that it is shown.", "RunnerGroupMade"),),
            problems=(*_WRITE, Problem.TOKEN_KEPT), body="TokenRotation",
        ),
        Operation(
            "delete", POOL, "deleteRunnerGroup", "Remove a runner group that nothing needs any more",
            (Answer(204, "It is gone, and its token is void."),), problems=(Problem.GROUP_IN_USE,),
        ),
        Operation(
            "delete", POOL + "/runners/{runnerId}", "deleteRunner",
            "Remove a runner at once; a run that it had taken over ends as lost",
            (Answer(200, "The group without it.", "RunnerGroupView"),), parameters=("Traceparent",),
        ),
    ),
    models=(
        (Offer, "serialization"), (Accepted, "serialization"), (PollRuns, "validation"), (AcceptRun, "validation"),
        (DispatchFailed, "validation"), (RunnerGroupList, "serialization"), (RunnerGroupMade, "serialization"),
        (RunnerGroupView, "serialization"), (RunnerGroupCreate, "validation"),
        (RunnerGroupUpdate, "validation"), (TokenRotation, "validation"),
    ),
    parameters=_PARAMETERS,
    in_path={"{group}": "RunnerGroup", "{runnerId}": "RunnerId"},
)  # fmt: skip
"""What runners say before they hold a run. The component `Run` is the run protocol's."""
