"""The ConfigMaps, Secrets and claims that a pod needs before it can run."""

from collections.abc import Iterator

from locktender.embedded.cluster.controllers.plane import Plane
from locktender.embedded.cluster.shapes import Obj, at, namespace_of, objs_at, text_at


def missing_for_container(plane: Plane, pod: Obj, container: Obj) -> str:
    """What a container's environment refers to and is not there, as the kubelet words it; "" when all is there."""
    for kind, noun, reference in _environment(container):
        name, key = text_at(reference, "name"), text_at(reference, "key")
        if not name or reference.get("optional") is True:
            continue
        found = plane.get(kind, namespace_of(pod), name)
        if found is None:
            return f'{noun} "{name}" not found'
        if key and key not in (at(found, "data") or {}):
            label = "ConfigMap" if noun == "configmap" else "Secret"
            return f"couldn't find key {key} in {label} {namespace_of(pod)}/{name}"
    return ""


def _environment(container: Obj) -> Iterator[tuple[str, str, Obj]]:
    for entry in objs_at(container, "envFrom"):
        for field, kind, noun in (("configMapRef", "configmaps", "configmap"), ("secretRef", "secrets", "secret")):
            if at(entry, field):
                yield kind, noun, entry[field]
    for entry in objs_at(container, "env"):
        for field, kind, noun in (
            ("configMapKeyRef", "configmaps", "configmap"),
            ("secretKeyRef", "secrets", "secret"),
        ):
            if at(entry, "valueFrom", field):
                yield kind, noun, entry["valueFrom"][field]


def missing_volume(plane: Plane, pod: Obj) -> str:
    """The first volume that cannot be mounted, as the kubelet words it; "" when there is none."""
    for volume in objs_at(pod, "spec", "volumes"):
        for field, name_field, kind, noun in (
            ("configMap", "name", "configmaps", "configmap"),
            ("secret", "secretName", "secrets", "secret"),
        ):
            source = volume.get(field)
            name = text_at(source, name_field)
            optional = at(source, "optional") is True
            if name and not optional and plane.get(kind, namespace_of(pod), name) is None:
                return f'MountVolume.SetUp failed for volume "{text_at(volume, "name")}" : {noun} "{name}" not found'
    return ""


def claim_names(pod: Obj) -> list[str]:
    """The claims that a pod uses."""
    names = (text_at(volume, "persistentVolumeClaim", "claimName") for volume in objs_at(pod, "spec", "volumes"))
    return [name for name in names if name]
