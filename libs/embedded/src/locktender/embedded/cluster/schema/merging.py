"""How the lists and maps of the standard types merge: what their OpenAPI documents say beside the types.

A list is one value unless it is named here; a map merges field by field unless it is named here.
"""

from locktender.embedded.cluster.shapes import Obj

# By `type.field`: the keys of a list of maps. "" means that the list is a set.
_KEYS = {
    "core_v1.PodSpec.containers": "name",
    "core_v1.PodSpec.initContainers": "name",
    "core_v1.PodSpec.ephemeralContainers": "name",
    "core_v1.PodSpec.volumes": "name",
    "core_v1.PodSpec.imagePullSecrets": "name",
    "core_v1.PodSpec.hostAliases": "ip",
    "core_v1.PodSpec.topologySpreadConstraints": "topologyKey whenUnsatisfiable",
    "core_v1.PodSpec.schedulingGates": "name",
    "core_v1.PodSpec.resourceClaims": "name",
    "core_v1.Container.ports": "containerPort protocol",
    "core_v1.Container.env": "name",
    "core_v1.Container.volumeMounts": "mountPath",
    "core_v1.Container.volumeDevices": "devicePath",
    "core_v1.EphemeralContainer.ports": "containerPort protocol",
    "core_v1.EphemeralContainer.env": "name",
    "core_v1.EphemeralContainer.volumeMounts": "mountPath",
    "core_v1.EphemeralContainer.volumeDevices": "devicePath",
    "core_v1.ResourceRequirements.claims": "name",
    "core_v1.ServiceSpec.ports": "port protocol",
    "core_v1.ServiceAccount.secrets": "name",
    "core_v1.NodeSpec.podCIDRs": "",
    "core_v1.NodeStatus.addresses": "type",
    "core_v1.PodStatus.podIPs": "ip",
    "meta_v1.ObjectMeta.ownerReferences": "uid",
    "meta_v1.ObjectMeta.finalizers": "",
    "admissionregistration_v1.ValidatingWebhookConfiguration.webhooks": "name",
    "admissionregistration_v1.MutatingWebhookConfiguration.webhooks": "name",
    "admissionregistration_v1.ValidatingWebhook.matchConditions": "name",
    "admissionregistration_v1.MutatingWebhook.matchConditions": "name",
}
# Strategic merge patches know one key a list, and a few lists that apply replaces as a whole.
_PATCH_KEYS = {
    "batch_v1.JobStatus.conditions": "type",
    "core_v1.NodeSpec.taints": "key",
    "core_v1.Endpoints.subsets": "",
}
_RETAINED = frozenset(("core_v1.PodSpec.volumes", "apps_v1.DeploymentSpec.strategy"))
_NOT_BY_TYPE = frozenset(("batch_v1.JobStatus",))
# Replaced as a whole; merging two selectors would select what nobody asked for.
_WHOLE_TYPES = frozenset(
    (
        "meta_v1.LabelSelector", "meta_v1.OwnerReference", "core_v1.LocalObjectReference", "core_v1.ObjectReference",
        "core_v1.TypedLocalObjectReference", "core_v1.SecretReference", "core_v1.ConfigMapKeySelector",
        "core_v1.SecretKeySelector", "core_v1.ObjectFieldSelector", "core_v1.ResourceFieldSelector",
        "core_v1.NodeSelector", "core_v1.NodeSelectorTerm", "core_v1.ScopeSelector", "rbac_v1.RoleRef",
        "rbac_v1.Subject", "core_v1.TopologySelectorTerm", "core_v1.EndpointAddress", "discovery_v1.EndpointPort",
    )
)  # fmt: skip
_WHOLE_FIELDS = frozenset(
    ("core_v1.PodSpec.nodeSelector", "core_v1.ServiceSpec.selector", "core_v1.ReplicationControllerSpec.selector")
)
_DEFAULTS = {"core_v1.ContainerPort.protocol": "TCP", "core_v1.ServicePort.protocol": "TCP"}


def merging_of_type(name: str) -> Obj:
    """The extensions of a type itself."""
    return {"x-kubernetes-map-type": "atomic"} if name in _WHOLE_TYPES else {}


def merging_of_field(owner: str, field: str) -> Obj:
    """The extensions of one field of a type, and its default where that decides about a key."""
    path = f"{owner}.{field}"
    told: Obj = {}
    keys = _KEYS.get(path)
    if keys is None and field == "conditions" and owner.endswith("Status") and owner not in _NOT_BY_TYPE:
        keys = "type"
    if keys is not None:
        told |= _list_of(keys)
    elif _PATCH_KEYS.get(path):
        told |= {"x-kubernetes-patch-merge-key": _PATCH_KEYS[path], "x-kubernetes-patch-strategy": "merge"}
    if path in _RETAINED:
        with_keys = "merge,retainKeys" if keys is not None else "retainKeys"
        told["x-kubernetes-patch-strategy"] = with_keys
    if path in _WHOLE_FIELDS:
        told["x-kubernetes-map-type"] = "atomic"
    if path in _DEFAULTS:
        told["default"] = _DEFAULTS[path]
    return told


def _list_of(keys: str) -> Obj:
    if not keys:
        return {"x-kubernetes-list-type": "set", "x-kubernetes-patch-strategy": "merge"}
    return {
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": keys.split(),
        "x-kubernetes-patch-merge-key": keys.split(maxsplit=1)[0],
        "x-kubernetes-patch-strategy": "merge",
    }
