"""Write the table of Kubernetes types that the sandbox cluster reads, from the typed models of a client library.

    .venv/bin/python tools/cluster_types.py

One line a type: its fields, each with its type; `[]` is a list, `{}` a map, `!` a field that must be there.
"""

import ast
import json
from pathlib import Path

import lightkube.models.core_v1 as models

ROOT = Path(__file__).resolve().parent.parent
TARGET = ROOT / "libs/embedded/src/locktender/embedded/cluster/schema/types.json"
MODELS = Path(models.__file__).parent
KINDS = {
    "core_v1": (
        "Namespace Node PersistentVolume Pod Service ServiceAccount ConfigMap Secret PersistentVolumeClaim Endpoints "
        "Event LimitRange ResourceQuota ReplicationController PodTemplate"
    ),
    "apps_v1": "Deployment ReplicaSet StatefulSet DaemonSet ControllerRevision",
    "batch_v1": "Job CronJob",
    "networking_v1": "Ingress NetworkPolicy IngressClass",
    "rbac_v1": "Role RoleBinding ClusterRole ClusterRoleBinding",
    "policy_v1": "PodDisruptionBudget",
    "autoscaling_v1": "Scale",
    "meta_v1": "DeleteOptions",
    "autoscaling_v2": "HorizontalPodAutoscaler",
    "storage_v1": "StorageClass CSIDriver VolumeAttachment",
    "apiextensions_v1": "CustomResourceDefinition",
    "apiregistration_v1": "APIService",
    "admissionregistration_v1": "ValidatingWebhookConfiguration MutatingWebhookConfiguration",
    "authentication_v1": "SelfSubjectReview TokenReview",
    "authorization_v1": "SelfSubjectAccessReview SelfSubjectRulesReview SubjectAccessReview",
    "coordination_v1": "Lease",
    "node_v1": "RuntimeClass",
    "scheduling_v1": "PriorityClass",
    "discovery_v1": "EndpointSlice",
}
SCALARS = {"str": "string", "int": "integer", "bool": "boolean", "float": "number"}
# What the values of plain maps are, where they are no strings.
QUANTITIES = (  # noqa: SIM905 - words read better than a column of literals
    "allocatable allocatedResources capacity default defaultRequest hard limits max maxLimitRequestRatio min overhead "
    "podFixed requests used"
).split()
VALUES = {
    **dict.fromkeys(QUANTITIES, "quantity"),
    **dict.fromkeys(("data", "extra", "all", "basic", "single", "status"), ""),
    "disruptedPods": "time",
    "dependencies": "any",
    **dict.fromkeys(("properties", "patternProperties", "definitions"), "apiextensions_v1.JSONSchemaProps"),
}
# Classes of the library that have no fields of their own, and what they are on the wire.
ALIASES = {
    "resource.Quantity": "quantity",
    "util_intstr.IntOrString": "intOrString",
    "meta_v1.Time": "time",
    "meta_v1.MicroTime": "microTime",
    "meta_v1.FieldsV1": "any",
    "runtime.RawExtension": "any",
}


def main() -> None:
    """Write the table for every served kind and everything inside it."""
    trees = {file.stem: ast.parse(file.read_text()) for file in MODELS.glob("*.py")}
    classes = {
        f"{module}.{node.name}": node
        for module, tree in trees.items()
        for node in tree.body
        if isinstance(node, ast.ClassDef)
    }
    waiting = [f"{module}.{kind}" for module, kinds in KINDS.items() for kind in kinds.split()]
    found: dict[str, dict[str, str]] = {}
    while waiting:
        name = waiting.pop()
        if name in found:
            continue
        found[name] = fields(name, classes)
        waiting += {kind.strip("[]{}!") for kind in found[name].values()} & classes.keys()
    lines = [f"{json.dumps(name)}: {json.dumps(found[name])}" for name in sorted(found)]
    TARGET.write_text("{\n" + ",\n".join(lines) + "\n}\n")


def fields(name: str, classes: dict[str, ast.ClassDef]) -> dict[str, str]:
    """The fields of one class by their names on the wire."""
    module = name.partition(".")[0]
    told: dict[str, str] = {}
    for node in classes[name].body:
        if not isinstance(node, ast.AnnAssign):
            continue
        hint = ast.literal_eval(node.annotation)
        optional = hint.startswith("Optional[")
        inner = hint.removeprefix("Optional[").removesuffix("]") if optional else hint
        field = wire_name(node)
        kind = mapped(name, field) if inner == "dict" else spelled(inner, module, classes)
        told[field] = kind if optional else f"{kind}!"
    return told


def mapped(owner: str, field: str) -> str:
    """The type of a map whose values the library does not tell."""
    if field == "data" and owner in ("core_v1.ConfigMap", "core_v1.Secret"):
        return "{}string"
    value = VALUES.get(field, "string")
    return "{}" + value if value else "any"


def wire_name(node: ast.AnnAssign) -> str:
    """The name on the wire, which the field's metadata holds where Python could not spell it."""
    for inner in ast.walk(node.value) if node.value else ():
        if isinstance(inner, ast.Dict):
            return ast.literal_eval(inner.values[0])
    assert isinstance(node.target, ast.Name)
    return node.target.id


def spelled(hint: str, module: str, classes: dict[str, ast.ClassDef]) -> str:
    """A type hint of the library in the spelling of the table."""
    if hint.startswith("List["):
        return "[]" + spelled(hint[5:-1], module, classes)
    if hint.startswith(("Dict[str,", "dict[str,")):
        return "{}" + spelled(hint.partition(",")[2].strip()[:-1], module, classes)
    if hint in SCALARS:
        return SCALARS[hint]
    full = hint if "." in hint else f"{module}.{hint}"
    if full in classes:
        return full
    return ALIASES.get(full, "any")


if __name__ == "__main__":
    main()
