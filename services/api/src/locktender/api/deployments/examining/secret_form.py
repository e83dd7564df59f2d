"""Stored manifests: which values a redeploy has to ask for again, and whether asking is enough."""

from locktender.contracts.deployments.inputs import InputField
from locktender.integrations.kube.json_value import JsonObject, as_array, as_object, as_text
from locktender.integrations.kube.manifests import Manifest
from locktender.integrations.kube.naming import generate_name
from locktender.integrations.kube.withheld import asked_for, is_incomplete


def stored_objects(source: JsonObject) -> list[Manifest]:
    """The objects of a stored source; where a secret value was, there is a placeholder."""
    return [_manifest(place, as_object(item)) for place, item in enumerate(as_array(source.get("documents")))]


def secret_form(source: JsonObject) -> tuple[InputField, ...]:
    """One field for each withheld value of a Secret; none where `needs_source`."""
    return asked_for(each.body for each in stored_objects(source))


def needs_source(source: JsonObject) -> bool:
    """Whether something besides the values of Secrets was withheld, so that nobody can be asked for it by name."""
    return any(is_incomplete(each.body) for each in stored_objects(source)) and not secret_form(source)


def _manifest(place: int, item: JsonObject) -> Manifest:
    body = as_object(item.get("body"))
    metadata = as_object(body.get("metadata"))
    index, line = item.get("index"), item.get("line")
    return Manifest(
        index=index if isinstance(index, int) else place,
        api_version=as_text(body.get("apiVersion")),
        kind=as_text(body.get("kind")),
        name=as_text(metadata.get("name")),
        namespace=as_text(metadata.get("namespace")) or None,
        body=body,
        line=line if isinstance(line, int) else 0,
        generate_name=generate_name(body),
    )
