"""The kinds that a CustomResourceDefinition defines, one a served version."""

from locktender.embedded.cluster.listkeys import UNTYPED, Shape
from locktender.embedded.cluster.resources import Custom, Resource
from locktender.embedded.cluster.shapes import Obj, at, is_going, list_at, obj_at, objs_at, text_at

CRDS = "customresourcedefinitions.apiextensions.k8s.io"
CLEANUP = "customresourcecleanup.apiextensions.k8s.io"


def is_established(crd: Obj) -> bool:
    """Whether the server said that it serves the kind."""
    return any(
        entry.get("type") == "Established" and entry.get("status") == "True"
        for entry in objs_at(crd, "status", "conditions")
    )


def resources_of(crd: Obj) -> tuple[Resource, ...]:
    """Every version that is served, in the order of preference: the newest stable one first."""
    storage = next((text_at(v, "name") for v in objs_at(crd, "spec", "versions") if v.get("storage") is True), "")
    served = [version for version in objs_at(crd, "spec", "versions") if version.get("served") is True]
    served.sort(key=lambda version: priority(text_at(version, "name")), reverse=True)
    return tuple(_resource(crd, version, storage) for version in served)


def _resource(crd: Obj, version: Obj, storage: str) -> Resource:
    names = obj_at(crd, "status", "acceptedNames") or obj_at(crd, "spec", "names")
    group, kind, plural = text_at(crd, "spec", "group"), text_at(names, "kind"), text_at(names, "plural")
    name = text_at(version, "name")
    schema = obj_at(version, "schema", "openAPIV3Schema")
    scale = obj_at(version, "subresources", "scale")
    custom = Custom(
        storage=storage,
        singular=text_at(names, "singular") or kind.lower(),
        list_kind=text_at(names, "listKind") or f"{kind}List",
        schema=schema,
        shape=Shape(schema) if schema else UNTYPED,
        columns=tuple(objs_at(version, "additionalPrinterColumns")),
        scale=scale,
        deprecation=_deprecation(version, group, kind),
        terminating=is_going(crd),
    )
    return Resource(
        group,
        name,
        plural,
        kind,
        namespaced=at(crd, "spec", "scope") == "Namespaced",
        status=at(version, "subresources", "status") is not None,
        counted=True,
        scale=bool(scale),
        short=tuple(str(text) for text in list_at(names, "shortNames")),
        categories=tuple(str(text) for text in list_at(names, "categories")),
        builtin=False,
        custom=custom,
    )


def _deprecation(version: Obj, group: str, kind: str) -> str:
    if version.get("deprecated") is not True:
        return ""
    return text_at(version, "deprecationWarning") or f"{group}/{text_at(version, 'name')} {kind} is deprecated"


def priority(version: str) -> tuple[int, int, int, str]:
    """Sorts versions as Kubernetes does: v2 before v1 before v1beta2 before v1alpha1 before anything else."""
    rest = version.removeprefix("v")
    for stage, word in ((1, "alpha"), (2, "beta")):
        major, found, minor = rest.partition(word)
        if found and major.isdigit() and minor.isdigit():
            return stage, int(major), int(minor), ""
    return (3, int(rest), 0, "") if rest.isdigit() and version != rest else (0, 0, 0, version)
