"""What a Helm chart says of itself: its name, its inputs, and whether all of it is here."""

import json
from collections.abc import Mapping
from typing import cast

from locktender.contracts.deployments.inputs import InputType
from locktender.integrations.kube.faults import shown
from locktender.integrations.kube.json_value import Json, JsonObject, as_array, as_object, as_text
from locktender.integrations.templates.faults import TemplateFault
from locktender.integrations.templates.foreign import read_mapping
from locktender.integrations.templates.template import Declared

CHART, VALUES, SCHEMA = "Chart.yaml", "values.yaml", "values.schema.json"

_TYPES = {
    "string": InputType.STRING,
    "number": InputType.NUMBER,
    "integer": InputType.NUMBER,
    "boolean": InputType.BOOLEAN,
}
_MOST_INPUTS = 200
_SAID = ("home", "icon", "version", "appVersion")


def about(files: Mapping[str, str]) -> JsonObject:
    """Its name, title and the like.

    Raises:
        TemplateFault: `Chart.yaml` has no name, is a library, or asks for charts that are not here.
    """
    chart = read_mapping(files[CHART], CHART)
    if not as_text(chart.get("name")):
        raise TemplateFault("bad-chart", "Chart.yaml has no name")
    if chart.get("type") == "library":
        raise TemplateFault("bad-chart", "a library chart renders nothing; take an application chart")
    _check_dependencies(chart, files)
    found: JsonObject = {
        "name": chart["name"],
        "description": as_text(chart.get("description")).strip(),
        "categories": chart.get("keywords"),
        "author": [as_text(as_object(one).get("name")) for one in as_array(chart.get("maintainers"))],
    }
    return found | {key: _written(chart[key]) for key in _SAID if key in chart}


def declared(files: Mapping[str, str]) -> tuple[Declared, ...]:
    """The values at the top that a person can enter: as the schema declares them, else as `values.yaml` has them.

    Raises:
        TemplateFault: the schema or the values cannot be read.
    """
    values = read_mapping(files.get(VALUES, ""), VALUES)
    found = _by_schema(files[SCHEMA], values) if SCHEMA in files else _by_values(values)
    if len(found) > _MOST_INPUTS:
        raise TemplateFault("too-many-inputs", f"the chart has more than {_MOST_INPUTS} values at its top")
    return found


def as_values(files: Mapping[str, str], inputs: Mapping[str, str]) -> JsonObject:
    """Texts as the values that the chart declares. What it does not declare is left out, and so is a blank number.

    Raises:
        TemplateFault: a text is no number where one is declared.
    """
    types = {one.key: one.type for one in declared(files)}
    return {
        key: _typed(key, text, types[key])
        for key, text in inputs.items()
        if key in types and (text.strip() or types[key] is InputType.STRING)
    }


def _typed(key: str, text: str, kind: InputType) -> Json:
    if kind is InputType.BOOLEAN:
        return text.strip() == "true"
    if kind is not InputType.NUMBER:
        return text
    try:
        number = cast("object", json.loads(text, parse_constant=_no_number))
    except ValueError:
        number = None
    if isinstance(number, bool) or not isinstance(number, int | float):
        raise TemplateFault("not-a-number", f"input {shown(key)} must be a number")
    return number


def _no_number(text: str) -> None:
    raise ValueError(text)


def _check_dependencies(chart: JsonObject, files: Mapping[str, str]) -> None:
    """Nothing is fetched, so that what a chart stands on has to be unpacked beside it."""
    for entry in as_array(chart.get("dependencies")):
        name = as_text(as_object(entry).get("name"))
        if f"charts/{name}/{CHART}" not in files:
            told = f"the chart {shown(name)} is not in charts/; run `helm dependency build`, unpack it there"
            raise TemplateFault("missing-dependency", f"{told}, and keep it with the template")


def _by_schema(text: str, values: JsonObject) -> tuple[Declared, ...]:
    try:
        schema = as_object(cast("object", json.loads(text)))
    except (ValueError, RecursionError):
        raise TemplateFault("bad-schema", f"{SCHEMA} is no JSON") from None
    required = as_array(schema.get("required"))
    found: list[Declared] = []
    for key, entry in as_object(schema.get("properties")).items():
        one = as_object(entry)
        kind = _TYPES.get(_type(one))
        if kind is None:
            continue
        options = tuple(_written(option) for option in as_array(one.get("enum")) if option is not None)
        default = one.get("default")
        found.append(
            Declared(
                key=key,
                type=InputType.CHOICE if options and kind is InputType.STRING else kind,
                description=as_text(one.get("description")) or as_text(one.get("title")),
                default=_written(values.get(key) if default is None else default),
                required=key in required,
                options=options,
                sensitive=one.get("writeOnly") is True or one.get("format") == "password",
            )
        )
    return tuple(found)


def _type(entry: JsonObject) -> str:
    """The one type of an entry besides null. Without one, an enumeration of texts is text."""
    declared = entry.get("type")
    names = [as_text(name) for name in (declared if isinstance(declared, list) else [declared]) if name != "null"]
    if len(names) == 1 and names[0]:
        return names[0]
    options = as_array(entry.get("enum"))
    texts = bool(options) and all(isinstance(option, str) for option in options)
    return "string" if texts and declared is None else ""


def _by_values(values: JsonObject) -> tuple[Declared, ...]:
    return tuple(
        Declared(key=key, type=_kind(value), default=_written(value))
        for key, value in values.items()
        if isinstance(value, str | bool | int | float)
    )


def _kind(value: str | float) -> InputType:
    if isinstance(value, bool):
        return InputType.BOOLEAN
    return InputType.STRING if isinstance(value, str) else InputType.NUMBER


def _written(value: Json) -> str:
    if isinstance(value, str):
        return value
    return json.dumps(value) if isinstance(value, bool | int | float) else ""
