"""Decisions on deployments in the OpenAPI document."""

from locktender.api.http.operations import Answer, Operation, Part
from locktender.api.stacks.deciding.bulk import BulkSkipped
from locktender.contracts.kernel.problems import Problem
from locktender.contracts.stacks.requests import ConfirmApply, Replan
from locktender.contracts.stacks.views import DeploymentView

DEPLOYMENTS = "/v1/workspaces/{workspace}/stacks/{stack}/deployments"
DEPLOYMENT = DEPLOYMENTS + "/{number}"
QUEUE = "/v1/workspaces/{workspace}/stack-queue"

_NOW = Answer(200, "The deployment as it is now.", "DeploymentView", headers=("ETag",))
_BULK = Answer(200, "What was skipped.", "BulkSkipped")
_TRACED = ("Traceparent",)
_BODY = (Problem.INVALID_REQUEST, Problem.TOO_LARGE, Problem.UNSUPPORTED_MEDIA_TYPE)

PART = Part(
    operations=(
        Operation(
            "post", DEPLOYMENT + "/confirm", "confirmStackDeployment", "Apply exactly the plan that was read",
            (_NOW,),
            problems=(*_BODY, Problem.NOT_CONFIRMABLE, Problem.STALE_PLAN, Problem.STACK_UNCERTAIN),
            parameters=_TRACED, body="ConfirmApply",
        ),
        Operation(
            "post", DEPLOYMENT + "/replan", "replanStackDeployment", "Plan once more in the same deployment",
            (_NOW,), problems=(*_BODY, Problem.NOT_CONFIRMABLE), parameters=_TRACED, body="Replan",
        ),
        Operation(
            "post", DEPLOYMENT + "/skip", "skipStackDeployment", "Leave a deployment before anything is changed",
            (_NOW,), problems=(Problem.NOT_SKIPPABLE, Problem.NOT_CONFIRMABLE), parameters=_TRACED,
        ),
        Operation(
            "post", DEPLOYMENT + "/cancel", "cancelStackDeployment", "Stop a deployment; what was changed stays",
            (Answer(200, "Stopped, or its runner was told to stop: then `cancelRequestedAt` is set.", "DeploymentView",
                    headers=("ETag",)),),
            problems=(Problem.NOT_CANCELLABLE,), parameters=_TRACED,
        ),
        Operation(
            "post", DEPLOYMENT + "/prioritize", "prioritizeStackDeployment",
            "Put a deployment first; nothing is stopped",
            (_NOW,), problems=(Problem.NOT_PRIORITIZABLE,), parameters=_TRACED,
        ),
        Operation(
            "post", DEPLOYMENT + "/deprioritize", "deprioritizeStackDeployment",
            "Let the age of a deployment count again",
            (_NOW,), problems=(Problem.NOT_PRIORITIZABLE,), parameters=_TRACED,
        ),
        Operation(
            "post", DEPLOYMENTS + ":skip-all", "skipStackDeployments",
            "Skip all of a stack that has not begun, or waits for a confirmation",
            (_BULK,), parameters=_TRACED,
        ),
        Operation(
            "post", QUEUE + ":cancel-pending", "clearStackQueue",
            "Skip all that waits for a runner at this moment, in the projects that you may confirm in",
            (_BULK,), parameters=_TRACED,
        ),
    ),
    models=(
        (DeploymentView, "serialization"), (BulkSkipped, "serialization"), (ConfirmApply, "validation"),
        (Replan, "validation"),
    ),
)  # fmt: skip
"""What people say to deployments. The places in the paths are described with what is read there."""
