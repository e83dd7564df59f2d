"""States in the OpenAPI document: the backend of engines, and the versions that people see."""

from typing import Any

from locktender.api.http.operations import JSON, Answer, Operation, Part
from locktender.contracts.kernel.ids import NAME_PATTERN
from locktender.contracts.kernel.problems import Problem
from locktender.contracts.stacks.states import StateVersion, StateVersionPage, UnlockState

STATE = "/v1/workspaces/{workspace}/stacks/{stack}/state"
VERSION = STATE + "/versions/{version}"
BACKEND = "/v1/stacks/{stackId}/state"
_HELD = (Problem.UNAUTHENTICATED, Problem.INVALID_REQUEST, Problem.NOT_FOUND, Problem.LEASE_LOST)
_WRITES = (Problem.STATE_CONFLICT, Problem.STATE_LOCKED, Problem.STACK_BUSY)
_DONE = Answer(200, "It is so, now or since before.")
_CONTENT = Answer(200, "The state file, byte for byte as it was written.", headers=("ETag",))

_NAME: dict[str, Any] = {"type": "string", "pattern": NAME_PATTERN, "maxLength": 63}
_UUID: dict[str, Any] = {"type": "string", "format": "uuid"}
_PARAMETERS: dict[str, dict[str, Any]] = {
    "Stack": {
        "in": "path", "name": "stack", "required": True, "schema": _NAME,
        "description": "The name of a stack of the workspace.",
    },
    "StackId": {
        "in": "path", "name": "stackId", "required": True, "schema": _UUID,
        "description": "The stack of the run that asks.",
    },
    "StateVersionId": {
        "in": "path", "name": "version", "required": True, "schema": _UUID, "description": "A version of the state.",
    },
    "LockId": {
        "in": "query", "name": "ID", "schema": {"type": "string"}, "description": "The id of the lock that is held.",
    },
}  # fmt: skip

PART = Part(
    operations=(
        Operation(
            "get", BACKEND, "readState", "Terraform's `http` backend: the state, for a run (basic: run id, run token)",
            (Answer(200, "The state file."),), problems=_HELD, guarded=False,
        ),
        Operation(
            "post", BACKEND, "writeState", "Terraform's `http` backend: the next version",
            (_DONE,),
            problems=(
                *_HELD, Problem.FORBIDDEN, Problem.STATE_CONFLICT, Problem.STATE_LOCKED, Problem.TOO_LARGE,
            ),
            parameters=("LockId",), bytes_body=JSON, guarded=False,
        ),
        Operation(
            "delete", BACKEND, "deleteState", "Terraform's `http` backend: always refused",
            (Answer(200, "Never."),), problems=(*_HELD, Problem.FORBIDDEN), guarded=False,
        ),
        Operation(
            "post", BACKEND + "/lock", "lockState", "Terraform's `http` backend: take the lock",
            (_DONE, Answer(423, "Somebody else holds it: what they said of themselves.")),
            problems=(*_HELD, Problem.FORBIDDEN, Problem.TOO_LARGE), bytes_body=JSON, guarded=False,
        ),
        Operation(
            "post", BACKEND + "/unlock", "unlockState", "Terraform's `http` backend: give the lock back",
            (_DONE, Answer(423, "It is not this one, or not of this run.")),
            problems=(*_HELD, Problem.FORBIDDEN, Problem.TOO_LARGE), bytes_body=JSON, may_be_empty=True,
            guarded=False,
        ),
        Operation("get", STATE, "getState", "Read the state that counts. It may hold secrets", (_CONTENT,)),
        Operation(
            "put", STATE, "importState", "Make a local state the one that counts",
            (Answer(200, "The version that counts now.", "StateVersion"),),
            problems=(Problem.INVALID_REQUEST, *_WRITES, Problem.TOO_LARGE, Problem.UNSUPPORTED_MEDIA_TYPE),
            bytes_body=JSON,
        ),
        Operation(
            "get", STATE + "/versions", "listStateVersions", "List the versions of a state, newest first, and its lock",
            (Answer(200, "One page.", "StateVersionPage"),),
            problems=(Problem.INVALID_REQUEST, Problem.INVALID_CURSOR), parameters=("Cursor", "Limit"),
        ),
        Operation("get", VERSION, "getStateVersion", "Read one version. It may hold secrets", (_CONTENT,)),
        Operation(
            "post", VERSION + ":rollback", "rollBackState", "Make the content of a version count again",
            (Answer(200, "The new version, with the next serial.", "StateVersion"),),
            problems=(Problem.INVALID_REQUEST, Problem.METHOD_NOT_ALLOWED, *_WRITES),
        ),
        Operation(
            "post", STATE + ":force-unlock", "breakStateLock", "Break the lock of a state",
            (Answer(200, "The newest version, and the lock that is left.", "StateVersionPage"),),
            problems=(
                Problem.INVALID_REQUEST, Problem.STATE_LOCKED, Problem.TOO_LARGE, Problem.UNSUPPORTED_MEDIA_TYPE,
            ),
            body="UnlockState",
        ),
    ),
    models=((StateVersion, "serialization"), (StateVersionPage, "serialization"), (UnlockState, "validation")),
    parameters=_PARAMETERS,
    in_path={"{stack}": "Stack", "{stackId}": "StackId", "{version}": "StateVersionId"},
)  # fmt: skip
"""States, for engines and for people."""
