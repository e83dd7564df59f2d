"""What the process says of itself, in the OpenAPI document."""

from locktender.api.http.operations import Answer, Operation, Part

PART = Part(
    operations=(
        Operation(
            "get", "/healthz", "isAlive", "Is the process alive?", (Answer(200, "It is.", "Alive"),), guarded=False
        ),
        Operation(
            "get", "/readyz", "isReady", "Can the process serve?",
            (Answer(200, "It can.", "Ready"), Answer(503, "It cannot; each check says why.", "Ready")), guarded=False,
        ),
        Operation("get", "/openapi", "getOpenApi", "This document", (Answer(200, "OpenAPI 3.1."),), guarded=False),
    ),
)  # fmt: skip
