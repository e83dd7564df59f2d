"""Templates as callers are shown them. Pure."""

from collections.abc import Sequence

from locktender.contracts.deployments.catalogue import TemplateDetail, TemplateEntry, TemplateList
from locktender.contracts.deployments.inputs import InputField, InputType
from locktender.integrations.templates.catalogue import Entry, Shelf
from locktender.integrations.templates.package import Package

Schema = dict[str, object]

_TYPES = {InputType.NUMBER: "number", InputType.BOOLEAN: "boolean"}


def listed(shelf: Shelf, entries: Sequence[Entry]) -> TemplateList:
    """Templates of a catalogue."""
    return TemplateList(
        templates=tuple(_entry(each) for each in entries), revision=shelf.revision, stale_since=shelf.stale_since
    )


def detail(name: str, package: Package, revision: str | None, fields: tuple[InputField, ...]) -> TemplateDetail:
    """One template."""
    return TemplateDetail(
        name=name,
        form=package.form.value,
        title=package.title,
        description=package.description,
        digest=package.digest,
        revision=revision,
        about=dict[str, object](package.about),
        inputs=fields,
    )


def input_schema(title: str, fields: Sequence[InputField]) -> Schema:
    """The JSON Schema (2020-12) of the object of inputs.

    A required input with a condition is not among `required`, since whether it is asked depends on the others; its
    condition is an annotation, `x-condition`.
    """
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": title,
        "type": "object",
        "properties": {each.key: _property(each) for each in fields},
        "required": [each.key for each in fields if each.required and each.default is None and each.condition is None],
    }


def _property(asked: InputField) -> Schema:
    schema: Schema = {"type": _TYPES.get(asked.type, "string")}
    if asked.description:
        schema["description"] = asked.description
    if asked.type is InputType.CHOICE:
        schema["enum"] = list(asked.options)
    if asked.default is not None:
        schema |= _default(asked.type, asked.default)
    if asked.condition is not None:
        schema["x-condition"] = asked.condition
    if asked.sensitive:
        schema |= {"writeOnly": True, "format": "password"}
    elif asked.required and asked.type is InputType.STRING:
        schema["pattern"] = r"\S"
    return schema


def _default(kind: InputType, text: str) -> Schema:
    """A declared default, where it is of its own type: authors write what they like."""
    match kind:
        case InputType.BOOLEAN:
            return {"default": text == "true"} if text in {"true", "false"} else {}
        case InputType.NUMBER:
            try:
                return {"default": int(text) if text.lstrip("-").isdecimal() else float(text)}
            except ValueError:
                return {}
        case InputType.STRING | InputType.CHOICE:
            return {"default": text}


def _entry(entry: Entry) -> TemplateEntry:
    return TemplateEntry(
        name=entry.name,
        form=None if entry.form is None else entry.form.value,
        title=entry.title,
        description=entry.description,
        categories=entry.categories,
        digest=entry.digest,
        revision=entry.revision,
        fault=entry.fault,
    )
