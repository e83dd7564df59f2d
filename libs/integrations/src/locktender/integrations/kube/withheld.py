"""Stored manifests whose secret values have to be entered again: what to ask for, and how answers get in. Pure."""

import base64
from collections.abc import Iterable, Iterator, Mapping

from locktender.contracts.deployments.inputs import InputField
from locktender.contracts.deployments.wire import ObjectRef
from locktender.integrations.kube.json_value import Json, JsonObject, as_object, as_text, copied
from locktender.integrations.kube.secrets import WITHHELD, is_secret

_FIELDS = ("data", "stringData")
_MOST = 400
"""Values that can be entered at once."""


def asked_for(bodies: Iterable[JsonObject]) -> tuple[InputField, ...]:
    """One field for each value that is withheld from these objects. None of them when they are not all that is."""
    fields: dict[str, InputField] = {}
    for body in bodies:
        if not _recoverable(body):
            return ()
        for holder, key in _places(body):
            name = input_key(body, holder, key)
            if name in fields:
                # Two objects that the cluster names: no answer could say which one it is for.
                return ()
            said = f"The value of {key} in {body.get('kind')} {_name(body)}."
            fields[name] = InputField(key=name, description=said, required=True, sensitive=True)
    return tuple(fields.values()) if len(fields) <= _MOST else ()


def input_key(body: JsonObject, holder: str, key: str) -> str:
    """What the value of one key of a Secret is called as an input: `Secret/<namespace>/<name>/<data|stringData>/<key>`.

    The namespace is as written, so it may be empty; a name that is still to be made is its prefix and a star.
    """
    namespace = as_text(as_object(body.get("metadata")).get("namespace"))
    return f"Secret/{namespace}/{_name(body)}/{holder}/{key}"


def filled(body: JsonObject, inputs: Mapping[str, str]) -> JsonObject:
    """A copy of a stored Secret with the values that were entered. `data` holds base64, so its values get encoded."""
    whole = as_object(copied(body))
    for holder, key in _places(body):
        value = inputs.get(input_key(body, holder, key))
        if value is not None:
            written = value if holder == "stringData" else base64.b64encode(value.encode()).decode()
            as_object(whole[holder])[key] = written
    return whole


def is_incomplete(body: JsonObject) -> bool:
    """Whether anything is withheld from a stored object, in a value or in a key."""
    return _withheld(body)


def ref_of(body: JsonObject) -> ObjectRef:
    """The object that a stored body describes."""
    return ObjectRef(
        api_version=as_text(body.get("apiVersion")),
        kind=as_text(body.get("kind")),
        namespace=as_text(as_object(body.get("metadata")).get("namespace")) or None,
        name=_name(body),
    )


def _recoverable(body: JsonObject) -> bool:
    """Whether nothing is withheld but values of a Secret, each under its key."""
    if not is_secret(body):
        return not _withheld(body)
    rest: JsonObject = {name: value for name, value in body.items() if name not in _FIELDS}
    holders = [body[field] for field in _FIELDS if field in body]
    return not _withheld(rest) and all(isinstance(holder, dict) and WITHHELD not in holder for holder in holders)


def _places(body: JsonObject) -> Iterator[tuple[str, str]]:
    for holder in _FIELDS:
        for key, value in as_object(body.get(holder)).items():
            if value == WITHHELD:
                yield holder, key


def _name(body: JsonObject) -> str:
    metadata = as_object(body.get("metadata"))
    return as_text(metadata.get("name")) or f"{as_text(metadata.get('generateName'))}*"


def _withheld(value: Json) -> bool:
    if isinstance(value, dict):
        return WITHHELD in value or any(_withheld(inner) for inner in value.values())
    if isinstance(value, list):
        return any(_withheld(inner) for inner in value)
    return value == WITHHELD
