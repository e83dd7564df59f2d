"""Places of an object that only take text, where YAML easily puts a number, a boolean or a whole structure."""

from collections.abc import Iterator
from typing import NamedTuple

from locktender.integrations.kube.faults import path_of
from locktender.integrations.kube.json_value import Json, JsonObject, as_array, as_object

Path = tuple[str | int, ...]


class Fault(NamedTuple):
    """What is wrong with an object. `path` leads to it, as far as it exists."""

    code: str
    message: str
    path: Path


_DATA: dict[tuple[str, str], Path] = {
    ("v1", "ConfigMap"): ("data", "binaryData"),
    ("v1", "Secret"): ("data", "stringData"),
}
_SELECTING = {("v1", "Service"), ("v1", "ReplicationController")}
_CONTAINERS = ("initContainers", "containers", "ephemeralContainers")
_TEMPLATES = ("template", "jobTemplate")


def text_faults(body: JsonObject) -> Iterator[Fault]:
    """Every value of `body` that must be text and is not. Null stands for an empty text and is left to the cluster."""
    identity = (str(body.get("apiVersion")), str(body.get("kind")))
    for field in _DATA.get(identity, ()):
        yield from _text_map(body.get(str(field)), (field,))
    if identity in _SELECTING:
        yield from _text_map(as_object(body.get("spec")).get("selector"), ("spec", "selector"))
    yield from _nested_texts(body, ())


def _nested_texts(value: JsonObject, path: Path) -> Iterator[Fault]:
    """Labels and annotations of the object and of the pod template inside of it, and the texts of its containers."""
    metadata = as_object(value.get("metadata"))
    for field in ("labels", "annotations"):
        if field in metadata:
            yield from _text_map(metadata[field], (*path, "metadata", field))
    if "finalizers" in metadata:
        yield from _text_list(metadata["finalizers"], (*path, "metadata", "finalizers"))
    spec = as_object(value.get("spec"))
    if "nodeSelector" in spec:
        yield from _text_map(spec["nodeSelector"], (*path, "spec", "nodeSelector"))
    selector = as_object(spec.get("selector"))
    if "matchLabels" in selector:
        yield from _text_map(selector["matchLabels"], (*path, "spec", "selector", "matchLabels"))
    for field in _CONTAINERS:
        for index, container in enumerate(as_array(spec.get(field))):
            yield from _container_texts(as_object(container), (*path, "spec", field, index))
    for field in _TEMPLATES:
        if isinstance(template := spec.get(field), dict):
            yield from _nested_texts(template, (*path, "spec", field))


def _container_texts(container: JsonObject, path: Path) -> Iterator[Fault]:
    for field in ("command", "args"):
        if field in container:
            yield from _text_list(container[field], (*path, field))
    for index, variable in enumerate(as_array(container.get("env"))):
        for field in ("name", "value"):
            yield from _text(as_object(variable).get(field), (*path, "env", index, field))


def _text_map(holder: Json, path: Path) -> Iterator[Fault]:
    if isinstance(holder, dict):
        for key, value in holder.items():
            if not isinstance(value, str):
                yield from _text(value, (*path, key))
    elif holder is not None:
        yield Fault("not-text", f"{path_of(path)} must be a mapping of texts", path)


def _text_list(holder: Json, path: Path) -> Iterator[Fault]:
    if isinstance(holder, list):
        for index, value in enumerate(holder):
            if not isinstance(value, str):
                yield from _text(value, (*path, index))
    elif holder is not None:
        yield Fault("not-text", f"{path_of(path)} must be a list of texts", path)


def _text(value: Json, path: Path) -> Iterator[Fault]:
    if value is None or isinstance(value, str):
        return
    if isinstance(value, bool):
        found = 'is a boolean; put it in quotes, such as "true"'
    elif isinstance(value, int | float):
        found = 'is a number; put it in quotes, such as "8080"'
    else:
        found = "is a mapping" if isinstance(value, dict) else "is a list"
    yield Fault("not-text", f"{path_of(path)} must be text but {found}", path)
