"""Variables in the OpenAPI document."""

from typing import Any

from locktender.api.http.operations import Answer, Operation, Part
from locktender.api.stacks.variables.controller import NAME
from locktender.contracts.kernel.problems import Problem
from locktender.contracts.stacks.requests import VariableSet
from locktender.contracts.stacks.views import VariableKind, VariableList, VariableView

VARIABLES = "/v1/workspaces/{workspace}/stacks/{stack}/variables"
VARIABLE = VARIABLES + "/{kind}/{variable}"

_PARAMETERS: dict[str, dict[str, Any]] = {
    "VariableKind": {
        "in": "path", "name": "kind", "required": True,
        "schema": {"type": "string", "enum": [each.value for each in VariableKind]},
        "description": "`variable`: an input variable of the configuration. `environment`: of the process. `token`: of "
        "the process, an identity token that is signed for each run; `token-file`: the path of a file with one.",
    },
    "VariableName": {
        "in": "path", "name": "variable", "required": True, "schema": {"type": "string", "pattern": f"^{NAME}$"},
        "description": "Its name.",
    },
}  # fmt: skip

PART = Part(
    operations=(
        Operation(
            "get", VARIABLES, "listStackVariables", "List the values that runs of a stack are given",
            (Answer(200, "By kind and name. Sensitive values are not shown.", "VariableList"),),
        ),
        Operation(
            "put", VARIABLE, "setStackVariable", "Give a variable a value",
            (Answer(200, "The variable as it is now. Runs that were begun keep the old value.", "VariableView"),),
            problems=(Problem.INVALID_REQUEST, Problem.TOO_LARGE, Problem.UNSUPPORTED_MEDIA_TYPE),
            parameters=("Traceparent",), body="VariableSet",
        ),
        Operation(
            "delete", VARIABLE, "removeStackVariable", "Forget a variable",
            (Answer(200, "What is left.", "VariableList"),), parameters=("Traceparent",),
        ),
    ),
    models=((VariableSet, "validation"), (VariableView, "serialization"), (VariableList, "serialization")),
    parameters=_PARAMETERS,
    in_path={"{kind}": "VariableKind", "{variable}": "VariableName"},
)  # fmt: skip
"""Setting, listing and removing."""
