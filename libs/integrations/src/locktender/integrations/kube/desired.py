"""What is really sent for a manifest, given what the cluster has: replicas that an autoscaler owns are left alone."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field

from locktender.integrations.kube.json_value import JsonObject, as_array, as_object, as_text
from locktender.integrations.kube.stamps import MANAGER

REPLICAS = "spec.replicas"
_OURS = (MANAGER,)

_Target = tuple[str, str, str, str]


@dataclass(frozen=True, slots=True)
class Autoscalers:
    """Which workloads have an autoscaler: HorizontalPodAutoscalers, and KEDA's ScaledObjects.

    Attributes:
        namespace: where objects live that name no namespace.
        by_target: names of autoscalers by group, kind, namespace and name of what they scale.
    """

    namespace: str
    by_target: Mapping[_Target, str] = field(default_factory=dict[_Target, str])

    @classmethod
    def among(cls, bodies: Iterable[JsonObject], namespace: str) -> "Autoscalers":
        """The autoscalers among any objects."""
        found: dict[_Target, str] = {}
        for body in bodies:
            group, kind = _group(body.get("apiVersion")), body.get("kind")
            if (group, kind) not in {("autoscaling", "HorizontalPodAutoscaler"), ("keda.sh", "ScaledObject")}:
                continue
            metadata = as_object(body.get("metadata"))
            target = as_object(as_object(body.get("spec")).get("scaleTargetRef"))
            if as_text(target.get("name")):
                place = as_text(metadata.get("namespace")) or namespace
                # Only a ScaledObject may leave version and kind out, and means these.
                version = target.get("apiVersion") or ("apps/v1" if group == "keda.sh" else "")
                scaled = as_text(target.get("kind")) or "Deployment"
                found[_group(version), scaled, place, as_text(target.get("name"))] = as_text(metadata.get("name"))
        return cls(namespace, found)

    def joined(self, other: "Autoscalers") -> "Autoscalers":
        """These and those of `other`, which win."""
        return Autoscalers(self.namespace, {**self.by_target, **other.by_target})

    def of(self, body: JsonObject) -> str | None:
        """The name of the autoscaler of an object, if it has one."""
        metadata = as_object(body.get("metadata"))
        place = as_text(metadata.get("namespace")) or self.namespace
        target = _group(body.get("apiVersion")), as_text(body.get("kind")), place, as_text(metadata.get("name"))
        return self.by_target.get(target)


@dataclass(frozen=True, slots=True)
class Desired:
    """What to send.

    Attributes:
        left_alone: paths of fields that keep the cluster's value, whatever the manifest says.
        autoscaler: who scales the object, also when nothing had to be left alone for it.
    """

    body: JsonObject
    left_alone: tuple[str, ...] = ()
    autoscaler: str | None = None


def desired(
    body: JsonObject, *, live: JsonObject | None, autoscalers: Autoscalers, ours: Collection[str] = _OURS
) -> Desired:
    """`body`, or a copy of it that changes no replicas which an autoscaler owns. `body` itself is never changed.

    A new object starts with the replicas as written. Of an existing one they are left out when others own them; when
    we alone own them, leaving them out would reset them to one, so the live value is sent.

    Args:
        body: the manifest.
        live: the object as the cluster has it, with its managed fields; None when it is not there.
        autoscalers: the ones of the source and of the cluster.
        ours: field managers whose fields are ours, or are about to be.
    """
    autoscaler = autoscalers.of(body)
    if autoscaler is None or live is None:
        return Desired(body, (), autoscaler)
    spec = as_object(body.get("spec"))
    current = as_object(live.get("spec")).get("replicas")
    owners = owners_of_replicas(live)
    ours_alone = bool(owners) and owners.issubset(ours)
    kept: JsonObject = {"replicas": current} if ours_alone and current is not None else {}
    if kept.get("replicas") == spec.get("replicas"):
        return Desired(body, (), autoscaler)
    changed: JsonObject = {name: value for name, value in spec.items() if name != "replicas"} | kept
    return Desired({**body, "spec": changed}, (REPLICAS,), autoscaler)


def owners_of_replicas(live: JsonObject) -> frozenset[str]:
    """The field managers that own `spec.replicas`."""
    entries = [as_object(entry) for entry in as_array(as_object(live.get("metadata")).get("managedFields"))]
    return frozenset(
        as_text(entry.get("manager"))
        for entry in entries
        if "f:replicas" in as_object(as_object(entry.get("fieldsV1")).get("f:spec"))
    )


def _group(api_version: object) -> str:
    group, slash, _ = as_text(api_version).partition("/")
    return group if slash else ""
