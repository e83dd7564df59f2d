"""Decisions about a task under way, in the OpenAPI document."""

from locktender.api.deployments.reading.described import TASK
from locktender.api.http.operations import Answer, Operation, Part
from locktender.contracts.deployments.inputs import SubmitInput
from locktender.contracts.kernel.problems import Problem

PART = Part(
    operations=(
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
            (Answer(200, "Cancelled, or told to stop: then `cancelRequestedAt` is set.", "Snapshot",
                    headers=("ETag",)),),
            problems=(Problem.NOT_CANCELLABLE,),
            parameters=("Traceparent",),
        ),
    ),
    models=(
        (SubmitInput, "validation"),
    ),
)  # fmt: skip
