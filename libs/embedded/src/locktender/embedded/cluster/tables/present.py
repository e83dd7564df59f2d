"""Answers in the form that the client accepts: as they are, as a table, or reduced to their metadata."""

import contextlib
from collections.abc import AsyncGenerator
from dataclasses import replace
from datetime import datetime
from typing import Any, Literal, TypeAlias

from locktender.contracts.kernel.clock import Clock
from locktender.embedded.cluster.calls import Answer
from locktender.embedded.cluster.resources import Resource
from locktender.embedded.cluster.shapes import Obj, at, is_list, is_obj, obj_at, objs_at
from locktender.embedded.cluster.tables.ages import age
from locktender.embedded.cluster.tables.columns import Column, columns_of
from locktender.embedded.cluster.tables.paths import values_at

Form: TypeAlias = Literal["whole", "table", "metadata"]
_META = "meta.k8s.io/v1"


def form_of(accept: str) -> Form:
    """The first form of an `Accept` header that is served; whole objects where none is named."""
    for entry in accept.split(","):
        words = {word.strip() for word in entry.split(";")}
        if "v=v1beta1" in words:
            continue
        if "as=Table" in words:
            return "table"
        if words & {"as=PartialObjectMetadata", "as=PartialObjectMetadataList"}:
            return "metadata"
        if words & {"application/json", "*/*"}:
            return "whole"
    return "whole"


def presented(answer: Answer, resource: Resource, accept: str, clock: Clock, include: str = "Metadata") -> Answer:
    """An answer about objects of a kind, in the form that is asked for. Refusals and other bodies stay as they are."""
    form, body = form_of(accept), answer.body
    if form == "whole" or body.get("kind") not in (resource.kind, resource.list_kind):
        return answer
    if form == "table":
        return replace(answer, body=_table(resource, body, clock.now(), include))
    if is_list(body.get("items")):
        items = [_metadata(item) for item in objs_at(body, "items")]
        reduced: Obj = {**body, "kind": "PartialObjectMetadataList", "apiVersion": _META, "items": items}
        return replace(answer, body=reduced)
    return replace(answer, body=_metadata(body))


async def presented_events(
    events: AsyncGenerator[Obj, None], resource: Resource, accept: str, clock: Clock, include: str = "Metadata"
) -> AsyncGenerator[Obj, None]:
    """The events of a watch, in the form that is asked for. Only the first table tells its columns.

    Closing it closes `events`.
    """
    form, first = form_of(accept), True
    async with contextlib.aclosing(events):
        async for event in events:
            obj = event["object"]
            if form == "whole" or event["type"] == "ERROR" or obj.get("kind") != resource.kind:
                yield event
            elif form == "metadata":
                yield {**event, "object": _metadata(obj)}
            else:
                table = _table(resource, obj, clock.now(), include)
                if event["type"] == "BOOKMARK":
                    table["rows"] = []
                yield {**event, "object": table if first else {**table, "columnDefinitions": None}}
                first = False


def _metadata(obj: Obj) -> Obj:
    return {"kind": "PartialObjectMetadata", "apiVersion": _META, "metadata": obj_at(obj, "metadata")}


def _table(resource: Resource, body: Obj, now: datetime, include: str) -> Obj:
    columns = columns_of(resource.qualified, resource.custom.columns if resource.custom else None)
    rows = objs_at(body, "items") if is_list(body.get("items")) else [body]
    metadata = obj_at(body, "metadata") if is_list(body.get("items")) else {}
    return {
        "kind": "Table",
        "apiVersion": _META,
        "metadata": metadata or {"resourceVersion": at(body, "metadata", "resourceVersion")},
        "columnDefinitions": [_definition(column) for column in columns],
        "rows": [{"cells": [_cell(column, row, now) for column in columns], **_object(row, include)} for row in rows],
    }


def _object(row: Obj, include: str) -> Obj:
    match include:
        case "None":
            return {}
        case "Object":
            return {"object": row}
        case _:
            return {"object": _metadata(row)}


def _definition(column: Column) -> Obj:
    return {
        "name": column.name,
        "type": column.type,
        "format": column.format,
        "description": "",
        "priority": int(column.wide),
    }


def _cell(column: Column, row: Obj, now: datetime) -> Any:
    if not isinstance(column.cell, str):
        return column.cell(row, now) if column.timed else column.cell(row)
    found = values_at(row, column.cell)
    if not found or found[0] is None:
        return column.empty
    if column.timed:
        return age(found[0], now)
    value: object = found[0]
    if column.type in ("integer", "number", "boolean"):
        return value
    if is_obj(value):
        return ",".join(f"{name}={item}" for name, item in value.items()) or column.empty
    return ",".join(str(item) for item in found) if len(found) > 1 else str(value)
