"""The canvas of a task, in the OpenAPI document."""

from locktender.api.deployments.reading.described import TASK
from locktender.api.http.operations import Answer, Operation, Part
from locktender.contracts.deployments.canvas import PlaceCanvas
from locktender.contracts.deployments.projection import Projection
from locktender.contracts.kernel.problems import Problem

PART = Part(
    operations=(
        Operation(
            "patch", TASK + "/canvas-projection", "placeDeploymentTask", "Keep where a canvas shows a task",
            (Answer(200, "The task, with the canvas that it has now.", "Projection", headers=("ETag",)),),
            problems=(
                Problem.INVALID_REQUEST, Problem.NOT_PLACEABLE, Problem.TOO_LARGE, Problem.UNSUPPORTED_MEDIA_TYPE,
            ),
            parameters=("Traceparent",),
            body="PlaceCanvas",
        ),
    ),
    models=(
        (Projection, "serialization"),
        (PlaceCanvas, "validation"),
    ),
)  # fmt: skip
