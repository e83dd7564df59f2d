"""Refusals that do not count, because the same source brings what was missing. Pure."""

from collections.abc import Collection, Iterable, Iterator, Mapping

from locktender.contracts.deployments.models import FailureReason
from locktender.contracts.deployments.plan import PlannedAction, PlannedDocument
from locktender.contracts.deployments.wire import ObjectRef
from locktender.integrations.kube.json_value import JsonObject, as_object, as_text
from locktender.integrations.kube.planning.asking import Item
from locktender.integrations.kube.planning.verdicts import later

_COMING = frozenset(
    {PlannedAction.CREATE, PlannedAction.CHANGE, PlannedAction.REPLACE, PlannedAction.UNKNOWN, PlannedAction.CONFLICT}
)
# What an API server looks up before it takes a pod.
_OF_PODS = (
    ("serviceAccountName", "ServiceAccount"),
    ("priorityClassName", "PriorityClass"),
    ("runtimeClassName", "RuntimeClass"),
)
_BINDINGS = frozenset({"RoleBinding", "ClusterRoleBinding"})
_DEFINITION = "CustomResourceDefinition"
_DOUBTFUL = frozenset({FailureReason.DENIED, FailureReason.APPLY_FAILED, FailureReason.INVALID_MANIFEST})


def reconsidered(documents: Iterable[PlannedDocument], items: Iterable[Item]) -> Iterator[PlannedDocument]:
    """The documents; a refusal becomes `unknown` when what the object depends on comes with the same source.

    A dry run sees the cluster as it is, without the documents that are applied before: a pod whose service account is
    new, a binding to a new role, an object with a field that only the new definition of its kind knows.
    """
    found = list(documents)
    bodies = {item.index: item.body for item in items}
    coming = {
        (each.ref.kind, each.ref.name): each.ref
        for each in found
        if each.action in _COMING and each.ref.kind != _DEFINITION
    }
    definitions = {
        _defined(bodies[each.index]): each.ref
        for each in found
        if each.action in _COMING and each.ref.kind == _DEFINITION
    }
    for document in found:
        needed = _needed(document, bodies[document.index], coming, definitions)
        if needed is None:
            yield document
        else:
            yield later(document.index, document.ref, f"known once {needed} is applied", document.warnings)


def _needed(
    document: PlannedDocument,
    body: JsonObject,
    coming: Mapping[tuple[str, str], ObjectRef],
    definitions: Mapping[tuple[str, str], ObjectRef],
) -> ObjectRef | None:
    if document.action is not PlannedAction.REFUSED or document.reason not in _DOUBTFUL:
        return None
    group, kind = document.ref.api_version.rpartition("/")[0], document.ref.kind
    names = [coming[name] for name in _names(kind, body) if name in coming]
    return names[0] if names else definitions.get((group, kind))


def _names(kind: str, body: JsonObject) -> Collection[tuple[str, str]]:
    if kind == "Pod":
        spec = as_object(body.get("spec"))
        return [(needed, as_text(spec.get(member))) for member, needed in _OF_PODS]
    if kind in _BINDINGS:
        role = as_object(body.get("roleRef"))
        return [(as_text(role.get("kind")), as_text(role.get("name")))]
    return []


def _defined(body: JsonObject) -> tuple[str, str]:
    spec = as_object(body.get("spec"))
    return as_text(spec.get("group")), as_text(as_object(spec.get("names")).get("kind"))
