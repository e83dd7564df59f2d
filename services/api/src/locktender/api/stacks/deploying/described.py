"""What makes deployments, in the OpenAPI document."""

from typing import Any

from locktender.api.http.operations import Answer, Operation, Part
from locktender.api.stacks.deciding.described import DEPLOYMENT, DEPLOYMENTS
from locktender.api.stacks.deploying.archives import GZIP, SourceArchive
from locktender.contracts.kernel.problems import Problem
from locktender.contracts.stacks.requests import DeploymentCreate, LocalPlan, RunCommand
from locktender.contracts.stacks.views import DeploymentView

ARCHIVE = "/v1/workspaces/{workspace}/stacks/{stack}/source-archives/{sha256}"

_SOURCE_DIGEST: dict[str, Any] = {
    "in": "path", "name": "sha256", "required": True, "schema": {"type": "string", "pattern": "^[0-9a-f]{64}$"},
    "description": "The SHA-256 of the archive, hex.",
}  # fmt: skip
_MADE = (
    Answer(201, "The deployment was made.", "DeploymentView", headers=("ETag", "Location")),
    Answer(200, "The same request made this deployment before.", "DeploymentView", headers=("ETag", "Location")),
)
_SENT = ("IdempotencyKey", "Traceparent")
_BODY = (
    Problem.INVALID_REQUEST, Problem.IDEMPOTENCY_MISMATCH, Problem.TOO_LARGE, Problem.UNSUPPORTED_MEDIA_TYPE,
    Problem.SOURCE_REFUSED,
)  # fmt: skip

PART = Part(
    operations=(
        Operation(
            "post", DEPLOYMENTS, "createStackDeployment", "Deploy a stack, at an exact commit",
            _MADE, problems=(*_BODY, Problem.SOURCE_UNAVAILABLE), parameters=_SENT, body="DeploymentCreate",
        ),
        Operation(
            "post", DEPLOYMENTS + ":run-command", "runStackCommand", "Run a script with the credentials of a stack",
            _MADE, problems=(*_BODY, Problem.SOURCE_UNAVAILABLE), parameters=_SENT, body="RunCommand",
        ),
        Operation(
            "post", DEPLOYMENTS + ":local", "planWorkingTree", "Plan an uploaded working tree; it only looks",
            _MADE, problems=_BODY, parameters=_SENT, body="LocalPlan",
        ),
        Operation(
            "post", DEPLOYMENT + "/retry", "retryStackDeployment", "Make the same deployment once more",
            _MADE,
            problems=(Problem.INVALID_REQUEST, Problem.IDEMPOTENCY_MISMATCH, Problem.NOT_RETRYABLE), parameters=_SENT,
        ),
        Operation(
            "put", ARCHIVE, "uploadStackSource", "Upload a tar.gz (`application/gzip`) that deployments can be made of",
            (
                Answer(201, "It is kept.", "SourceArchive"), Answer(200, "It was kept before.", "SourceArchive"),
            ),
            problems=(
                Problem.INVALID_REQUEST, Problem.SOURCE_REFUSED, Problem.TOO_LARGE, Problem.UNSUPPORTED_MEDIA_TYPE,
            ),
            bytes_body=GZIP,
        ),
    ),
    models=(
        (DeploymentCreate, "validation"), (RunCommand, "validation"), (LocalPlan, "validation"),
        (SourceArchive, "serialization"), (DeploymentView, "serialization"),
    ),
    parameters={"SourceDigest": _SOURCE_DIGEST},
    in_path={"{sha256}": "SourceDigest"},
)  # fmt: skip
"""Deployments that people make."""
