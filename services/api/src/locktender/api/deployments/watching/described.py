"""The streams of tasks and projects, in the OpenAPI document."""

from locktender.api.deployments.reading.described import PROJECT_TASKS, TASK
from locktender.api.http.operations import SSE, Answer, Operation, Part

_STREAM_TEXT = (
    "Server-sent events; `data` is one line of JSON. A comment every 10 s shows that the stream lives. `degraded` says "
    "that events do not arrive at the moment, `error` that the record cannot be read; the stream goes on in both cases."
)

PART = Part(
    operations=(
        Operation(
            "get", TASK + "/timeline/stream", "watchDeploymentTask", "Follow a task",
            (Answer(200, f"{_STREAM_TEXT} Events: `snapshot` and `update` carry a Snapshot and its revision as id, "
                    "`removed`, and `end` after the last. `resync` announces a snapshot that replaces all that was "
                    "told.",
                    media_type=SSE),),
            parameters=("LastEventId",),
        ),
        Operation(
            "get", PROJECT_TASKS + "/stream", "watchProjectDeploymentTasks", "Follow the tasks of a project",
            (Answer(200, f"{_STREAM_TEXT} Events: `snapshot` with `projections`, `upsert` with `projection`, `remove`. "
                    "With the last id, the stream goes on from there; where it cannot, `resync` announces a snapshot.",
                    media_type=SSE),),
            parameters=("LastEventId",),
        ),
    ),
)  # fmt: skip
