"""The OpenAPI 3.1 document, made from the table of operations and the models that read and write the bodies.

The framework's own is not used: it loses patterns and closed objects, and knows nothing of our problems.
"""

import json
from functools import cache
from http import HTTPStatus
from typing import Any

from litestar import Request, Response, get
from litestar.handlers import HTTPRouteHandler
from pydantic.json_schema import models_json_schema

from locktender.api.http.operations import JSON, Answer, Operation
from locktender.api.http.problems import MEDIA_TYPE
from locktender.api.parts import OPERATIONS, PARTS
from locktender.contracts.kernel.ids import NAME_PATTERN
from locktender.contracts.kernel.problems import Problem

Json = dict[str, Any]

_TEXT: Json = {"type": "string"}
_OBJECT: Json = {"type": "object"}
_BYTES: Json = {"type": "string", "format": "binary"}
_NAME: Json = {"type": "string", "pattern": NAME_PATTERN, "maxLength": 63}


def openapi_route() -> HTTPRouteHandler:
    """`/openapi`."""

    @get("/openapi")
    async def openapi(request: Request[Any, Any, Any]) -> Response[bytes]:
        del request
        return Response(openapi_document().encode(), media_type=JSON)

    return openapi


@cache
def openapi_document() -> str:
    """The document as JSON text; the same text for the same code."""
    paths: dict[str, Json] = {}
    for operation in OPERATIONS:
        paths.setdefault(operation.path, {})[operation.method] = _operation(operation)
    document = {
        "openapi": "3.1.0",
        "info": {
            "title": "Locktender",
            "version": "1",
            "description": "A deployment control plane whose statuses are always true.",
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "paths": paths,
        "components": {
            "schemas": _schemas(),
            "parameters": _PARAMETERS | {name: each for part in PARTS for name, each in part.parameters.items()},
            "headers": _HEADERS,
            "securitySchemes": {"bearer": {"type": "http", "scheme": "bearer"}},
        },
    }
    return json.dumps(document, indent=2, sort_keys=True, ensure_ascii=False) + "\n"


def _operation(operation: Operation) -> Json:
    responses = {str(answer.status): _success(answer) for answer in operation.answers}
    for status, problems in _by_status(operation).items():
        if status in responses:
            responses[status]["content"][MEDIA_TYPE] = {"schema": _ref("Problem")}
        else:
            responses[status] = _failure(problems)
    described: Json = {
        "operationId": operation.name,
        "summary": operation.summary,
        "parameters": [_parameter(name) for name in (*_in_path(operation), *operation.parameters)],
        "responses": responses,
        "security": [{"bearer": []}] if operation.guarded else [],
    }
    if operation.body is not None:
        described["requestBody"] = {"required": True, "content": {JSON: {"schema": _ref(operation.body)}}}
    if operation.bytes_body is not None:
        schema = _OBJECT if operation.bytes_body == JSON else _BYTES
        content = {operation.bytes_body: {"schema": schema}}
        described["requestBody"] = {"required": not operation.may_be_empty, "content": content}
    return described


def _success(answer: Answer) -> Json:
    if answer.status == HTTPStatus.NO_CONTENT:
        return {"description": answer.description}
    schema = _OBJECT if answer.media_type == JSON else _TEXT
    described: Json = {
        "description": answer.description,
        "content": {answer.media_type: {"schema": schema if answer.schema is None else _ref(answer.schema)}},
    }
    if answer.headers:
        described["headers"] = {name: {"$ref": f"#/components/headers/{name}"} for name in answer.headers}
    return described


def _failure(problems: list[Problem]) -> Json:
    described: Json = {
        "description": "; ".join(f"`{problem.value.slug}`: {problem.value.title}" for problem in problems),
        "content": {MEDIA_TYPE: {"schema": _ref("Problem")}},
    }
    headers = [name for problem in problems for name in _HEADERS_OF.get(problem, ())]
    if headers:
        described["headers"] = {name: {"$ref": f"#/components/headers/{name}"} for name in headers}
    return described


def _by_status(operation: Operation) -> dict[str, list[Problem]]:
    found: dict[str, list[Problem]] = {}
    for problem in operation.all_problems():
        found.setdefault(str(problem.value.status), []).append(problem)
    return found


def _in_path(operation: Operation) -> list[str]:
    names = {"{workspace}": "Workspace"}
    names |= {place: component for part in PARTS for place, component in part.in_path.items()}
    return [component for place, component in names.items() if place in operation.path]


def _schemas() -> Json:
    models = [model for part in PARTS for model in part.models]
    _, made = models_json_schema(models, ref_template="#/components/schemas/{model}")
    return made["$defs"] | {"Problem": _PROBLEM, "Alive": _ALIVE, "Ready": _READY}


def _ref(name: str) -> Json:
    return {"$ref": f"#/components/schemas/{name}"}


def _parameter(name: str) -> Json:
    return {"$ref": f"#/components/parameters/{name}"}


def _given(place: str, name: str, schema: Json, description: str, **more: object) -> Json:
    required = {"required": True} if place == "path" else {}
    return {"in": place, "name": name, "schema": schema, "description": description, **required, **more}


_PARAMETERS: Json = {
    "Workspace": _given("path", "workspace", _NAME, "The tenant. One that is not yours does not exist for you."),
    "IdempotencyKey": _given(
        "header", "Idempotency-Key", {"type": "string", "pattern": "^[\\x21-\\x7e]{1,255}$"},
        "The same key with the same request makes one task, however often it is sent.",
    ),
    "Traceparent": _given("header", "traceparent", _TEXT, "W3C trace context; it travels on with the task."),
    "LastEventId": _given(
        "header", "Last-Event-ID", _TEXT, "The last id that was received. One that is not ours is as good as none."
    ),
    "InProject": _given("query", "project", _NAME, "Only tasks of this project."),
    "Cursor": _given("query", "cursor", _TEXT, "`nextCursor` of the page before, with the same filters."),
    "Limit": _given(
        "query", "limit", {"type": "integer", "minimum": 1, "maximum": 200, "default": 100}, "Entries at most."
    ),
}  # fmt: skip

_HEADERS: Json = {
    "ETag": {"schema": _TEXT, "description": "In quotes. For a task: its revision."},
    "Location": {"schema": _TEXT, "description": "The address of the task."},
    "Retry-After": {"schema": {"type": "string"}, "description": "Seconds after which to try again."},
    "WWW-Authenticate": {"schema": _TEXT, "description": "How to prove who you are."},
}
_HEADERS_OF = {Problem.UNAUTHENTICATED: ("WWW-Authenticate",), Problem.UNAVAILABLE: ("Retry-After",)}

_PROBLEM: Json = {
    "type": "object",
    "description": "RFC 9457.",
    "required": ["type", "title", "status", "detail", "traceId"],
    "properties": {
        "type": {"type": "string", "enum": [problem.value.urn for problem in Problem]},
        "title": _TEXT,
        "status": {"type": "integer"},
        "detail": _TEXT,
        "traceId": {"type": "string", "pattern": "^[0-9a-f]{32}$"},
        "errors": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["pointer", "message", "code"],
                "properties": {
                    "pointer": {"type": "string", "description": "JSON pointer into the body; empty for the request."},
                    "message": _TEXT,
                    "code": _TEXT,
                },
            },
        },
        "snapshot": {
            "anyOf": [{"$ref": f"#/components/schemas/{name}"} for name in ("Snapshot", "StackView", "DeploymentView")],
            "description": "What the resource is now, on conflicts.",
        },
    },
}
_ALIVE: Json = {"type": "object", "required": ["alive"], "properties": {"alive": {"const": True}}}
_READY: Json = {
    "type": "object",
    "required": ["ready", "checks"],
    "properties": {
        "ready": {"type": "boolean"},
        "checks": {
            "type": "object",
            "additionalProperties": {
                "type": "object",
                "required": ["ok"],
                "properties": {"ok": {"type": "boolean"}, "reason": _TEXT},
            },
        },
    },
}
