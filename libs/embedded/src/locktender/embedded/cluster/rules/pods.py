"""Pods, and the templates of pods."""

from collections.abc import Collection, Iterator

from locktender.embedded.cluster.refusal import Cause
from locktender.embedded.cluster.rules.containers import container_rules
from locktender.embedded.cluster.rules.faults import duplicate, forbidden, required, unsupported
from locktender.embedded.cluster.rules.names import label_rules, short_name_rules
from locktender.embedded.cluster.shapes import Obj, obj_at, objs_at, text_at

_RESTARTS = ("Always", "OnFailure", "Never")
_MODES = ("ClusterFirstWithHostNet", "ClusterFirst", "Default", "None")


def template_rules(template: Obj, where: str, claims: Collection[str] = ()) -> Iterator[Cause]:
    """What is wrong with a template. Volumes named as one of `claims` come with every pod of it."""
    yield from label_rules(obj_at(template, "metadata", "labels"), f"{where}.metadata.labels")
    yield from pod_rules(obj_at(template, "spec"), f"{where}.spec", claims)


def pod_rules(spec: Obj, where: str, claims: Collection[str] = ()) -> Iterator[Cause]:
    """What is wrong with the specification of a pod."""
    volumes = {text_at(volume, "name") for volume in objs_at(spec, "volumes")} | {*claims}
    yield from _volumes(spec, where)
    if not objs_at(spec, "containers"):
        yield required(f"{where}.containers")
    names: set[str] = set()
    for part in ("containers", "initContainers"):
        for index, container in enumerate(objs_at(spec, part)):
            place, name = f"{where}.{part}[{index}]", text_at(container, "name")
            yield from container_rules(container, place, volumes)
            if name in names:
                yield duplicate(f"{place}.name", name)
            names |= {name} - {""}
    if text_at(spec, "restartPolicy") not in _RESTARTS:
        yield unsupported(f"{where}.restartPolicy", text_at(spec, "restartPolicy"), _RESTARTS)
    if text_at(spec, "dnsPolicy") not in _MODES:
        yield unsupported(f"{where}.dnsPolicy", text_at(spec, "dnsPolicy"), _MODES)


def _volumes(spec: Obj, where: str) -> Iterator[Cause]:
    names: set[str] = set()
    for index, volume in enumerate(objs_at(spec, "volumes")):
        place, name = f"{where}.volumes[{index}]", text_at(volume, "name")
        if not name:
            yield required(f"{place}.name")
        else:
            yield from short_name_rules(name, f"{place}.name")
        if name in names:
            yield duplicate(f"{place}.name", name)
        names |= {name} - {""}
        sources = [source for source in volume if source != "name"]
        if not sources:
            yield required(place, "must specify a volume type")
        yield from (forbidden(f"{place}.{one}", "may not specify more than 1 volume type") for one in sources[1:])
        if "persistentVolumeClaim" in volume and not text_at(volume, "persistentVolumeClaim", "claimName"):
            yield required(f"{place}.persistentVolumeClaim.claimName")
        if "secret" in volume and not text_at(volume, "secret", "secretName"):
            yield required(f"{place}.secret.secretName")
        if "configMap" in volume and not text_at(volume, "configMap", "name"):
            yield required(f"{place}.configMap.name")
