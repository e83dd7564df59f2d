"""The catalogue in the OpenAPI document."""

from typing import Any

from locktender.api.http.operations import Answer, Operation, Part
from locktender.contracts.deployments.catalogue import RenderedTemplate, RenderTemplate, TemplateDetail, TemplateList
from locktender.contracts.kernel.problems import Problem

TEMPLATES = "/v1/workspaces/{workspace}/templates"
TEMPLATE = TEMPLATES + "/{template}"

_PARAMETERS: dict[str, dict[str, Any]] = {
    "Template": {
        "in": "path", "name": "template", "required": True,
        "schema": {"type": "string", "pattern": "^[A-Za-z0-9][A-Za-z0-9._-]{0,199}$"},
        "description": "A name in the catalogue.",
    },
    "Search": {
        "in": "query", "name": "search", "schema": {"type": "string", "maxLength": 200},
        "description": "Only templates with all these words.",
    },
}  # fmt: skip

PART = Part(
    operations=(
        Operation(
            "get", TEMPLATES, "listTemplates", "List the templates of the catalogue, or search them",
            (Answer(200, "By name. Broken ones are listed with their fault.", "TemplateList"),),
            problems=(Problem.INVALID_REQUEST,),
            parameters=("Search",),
        ),
        Operation(
            "get", TEMPLATE, "getTemplate", "Look at a template, and at what it asks for",
            (Answer(200, "The template.", "TemplateDetail"),),
            problems=(Problem.INVALID_REQUEST,),
        ),
        Operation(
            "get", TEMPLATE + "/schema", "getTemplateSchema", "The JSON Schema (2020-12) of the inputs of a template",
            (Answer(200, "The schema. Secret inputs are `writeOnly`."),),
            problems=(Problem.INVALID_REQUEST,),
        ),
        Operation(
            "post", TEMPLATE + ":render", "renderTemplate", "What a template would come to; nothing is kept",
            (Answer(200, "The documents, with a provisional name and without secret values.", "RenderedTemplate"),),
            problems=(Problem.INVALID_REQUEST, Problem.TOO_LARGE, Problem.UNSUPPORTED_MEDIA_TYPE),
            body="RenderTemplate",
        ),
    ),
    models=(
        (TemplateList, "serialization"),
        (TemplateDetail, "serialization"),
        (RenderTemplate, "validation"),
        (RenderedTemplate, "serialization"),
    ),
    parameters=_PARAMETERS,
    in_path={"{template}": "Template"},
)  # fmt: skip
