"""The run protocol in the OpenAPI document."""

from typing import Any

from locktender.api.http.operations import Answer, Operation, Part
from locktender.api.stacks.runs.bodies import BYTES
from locktender.contracts.kernel.problems import Problem
from locktender.contracts.stacks.wire import Done, LogAccepted, RunContext, StatusAnswer

RUN = "/v1/runs/{run}"
_ARTIFACT = RUN + "/artifacts/{artifact}"
_NAMES = ["plan.tfplan", "analysis.json", "plan-summary.json", "source.tar.gz"]
_HELD = (Problem.UNAUTHENTICATED, Problem.INVALID_REQUEST, Problem.LEASE_LOST, Problem.NOT_FOUND)
_STATUS = Answer(200, "What is true of the run now.", "StatusAnswer")

_PARAMETERS: dict[str, dict[str, Any]] = {
    "Run": {
        "in": "path", "name": "run", "required": True, "schema": {"type": "string", "format": "uuid"},
        "description": "A run. Its token, as bearer, is the only key to this address.",
    },
    "Artifact": {
        "in": "path", "name": "artifact", "required": True, "schema": {"type": "string", "enum": _NAMES},
        "description": "A file of the run.",
    },
    "RunnerKey": {
        "in": "query", "name": "key", "required": True, "schema": {"type": "string"},
        "description": "A raw X25519 public key, base64url. Secrets are sealed to it.",
    },
    "LogStart": {
        "in": "query", "name": "offset", "required": True,
        "schema": {"type": "integer", "minimum": 0, "maximum": 10**12 - 1}, "description": "Where the bytes begin.",
    },
}  # fmt: skip

PART = Part(
    operations=(
        Operation(
            "get", RUN + "/context", "getRunContext", "Everything that the runner of a run needs",
            (Answer(200, "The context. What is secret of it is sealed to the key.", "RunContext"),),
            problems=_HELD, parameters=("RunnerKey",), guarded=False,
        ),
        Operation(
            "get", RUN + "/status", "getRunStatus", "Say that the runner is alive, and hear what is true of the run",
            (_STATUS,), problems=_HELD, guarded=False,
        ),
        Operation(
            "post", RUN + "/acknowledging-cancel", "acknowledgeRunCancel", "Say that the tool is being stopped",
            (_STATUS,), problems=_HELD, parameters=("Traceparent",), guarded=False,
        ),
        Operation(
            "post", RUN + "/done", "reportRunDone", "Report the end of a run. Its token is void afterwards",
            (_STATUS,), problems=(*_HELD, Problem.TOO_LARGE, Problem.UNSUPPORTED_MEDIA_TYPE),
            parameters=("Traceparent",), body="Done", guarded=False,
        ),
        Operation(
            "post", RUN + "/log", "appendRunLog", "Keep a piece of the log, up to 256 KiB of bytes",
            (Answer(200, "Where the next piece begins. A repeat is answered, and not doubled.", "LogAccepted"),),
            problems=(*_HELD, Problem.ALREADY_KEPT, Problem.LOG_GAP, Problem.TOO_LARGE), parameters=("LogStart",),
            bytes_body=BYTES, guarded=False,
        ),
        Operation(
            "put", _ARTIFACT, "putRunArtifact", "Keep a file of the run; it is written once",
            (Answer(204, "It is kept."),),
            problems=(
                *_HELD, Problem.FORBIDDEN, Problem.METHOD_NOT_ALLOWED, Problem.ALREADY_KEPT, Problem.TOO_LARGE,
            ),
            bytes_body=BYTES, guarded=False,
        ),
        Operation(
            "get", _ARTIFACT, "getRunArtifact", "A file that the run takes",
            (Answer(200, "The bytes.", media_type=BYTES),), problems=_HELD, guarded=False,
        ),
    ),
    models=(
        (RunContext, "serialization"), (StatusAnswer, "serialization"), (Done, "validation"),
        (LogAccepted, "serialization"),
    ),
    parameters=_PARAMETERS,
    in_path={"{run}": "Run", "{artifact}": "Artifact"},
)  # fmt: skip
"""What runners say to the API."""
