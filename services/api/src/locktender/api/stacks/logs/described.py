"""Logs in the OpenAPI document."""

from typing import Any

from locktender.api.http.operations import SSE, Answer, Operation, Part
from locktender.api.stacks.logs.controller import MOST_BYTES, PAGE_BYTES
from locktender.contracts.kernel.problems import Problem

LOG = "/v1/workspaces/{workspace}/stacks/{stack}/deployments/{number}/runs/{runId}/log"

_PARAMETERS: dict[str, dict[str, Any]] = {
    "DeploymentNumber": {
        "in": "path", "name": "number", "required": True, "schema": {"type": "integer", "minimum": 1},
        "description": "Counts the deployments of a stack.",
    },
    "RunId": {
        "in": "path", "name": "runId", "required": True, "schema": {"type": "string", "format": "uuid"},
        "description": "A run of the deployment.",
    },
    "LogOffset": {
        "in": "query", "name": "offset", "schema": {"type": "integer", "minimum": 0, "default": 0},
        "description": "The first byte.",
    },
    "LogLimit": {
        "in": "query", "name": "limit",
        "schema": {"type": "integer", "minimum": 1, "maximum": MOST_BYTES, "default": PAGE_BYTES},
        "description": "Bytes at most.",
    },
}  # fmt: skip

PART = Part(
    operations=(
        Operation(
            "get", LOG, "getRunLog", "Read the log of a run",
            (Answer(200, "The bytes, as text. `Locktender-Log-End` says up to where there is more by now. A log that "
                    "was cut ends with a line that says so.", media_type="text/plain; charset=utf-8"),),
            problems=(Problem.INVALID_REQUEST, Problem.REMOVED), parameters=("LogOffset", "LogLimit"),
        ),
        Operation(
            "get", LOG + "/stream", "watchRunLog", "Follow the log of a run",
            (Answer(200, "Server-sent events: `log` with `offset` and `text`, its id the offset of the next; `end` "
                    "when the run has ended and all of it was told. With the last id the stream goes on from there; "
                    "`resync` says that it begins anew.", media_type=SSE),),
            problems=(Problem.REMOVED,), parameters=("LastEventId",),
        ),
    ),
    parameters=_PARAMETERS,
    in_path={"{number}": "DeploymentNumber", "{runId}": "RunId"},
)  # fmt: skip
"""Logs, for people."""
