"""Whether the names that a definition asks for are free in its group."""

from collections.abc import Iterator

from locktender.embedded.cluster.crds.definition import CRDS
from locktender.embedded.cluster.objects import Store
from locktender.embedded.cluster.resources import Registry
from locktender.embedded.cluster.shapes import Obj, at, list_at, name_of, obj_at, text_at, uid_of


def clash(store: Store, registry: Registry, crd: Obj) -> tuple[str, str]:
    """Reason and message of the first name that is taken, two empty texts when all are free.

    Names are taken by standard kinds and by definitions that were accepted before.
    """
    wanted = obj_at(crd, "spec", "names")
    group = text_at(crd, "spec", "group")
    kinds, plurals = _taken(store, registry, crd, group)
    kind = text_at(wanted, "kind")
    asked = (
        ("Plural", text_at(wanted, "plural"), plurals),
        ("Singular", text_at(wanted, "singular") or kind.lower(), plurals),
        *(("ShortNames", str(short), plurals) for short in list_at(wanted, "shortNames")),
        ("Kind", kind, kinds),
        ("ListKind", text_at(wanted, "listKind") or f"{kind}List", kinds),
    )
    for what, name, taken in asked:
        if name in taken:
            return f"{what}Conflict", f'"{name}" is already in use'
    return "", ""


def _taken(store: Store, registry: Registry, crd: Obj, group: str) -> tuple[set[str], set[str]]:
    kinds: set[str] = set()
    plurals: set[str] = set()
    for resource in registry:
        if resource.group == group and resource.custom is None:
            kinds |= {resource.kind, resource.list_kind}
            plurals |= {resource.plural, resource.singular, *resource.short}
    for names in _accepted(store, crd, group):
        kinds |= {text_at(names, "kind"), text_at(names, "listKind")}
        plurals |= {text_at(names, "plural"), text_at(names, "singular"), *map(str, list_at(names, "shortNames"))}
    return kinds - {""}, plurals - {""}


def _accepted(store: Store, crd: Obj, group: str) -> Iterator[Obj]:
    for other in store.select(CRDS):
        if uid_of(other) != uid_of(crd) and name_of(other) != name_of(crd) and at(other, "spec", "group") == group:
            yield obj_at(other, "status", "acceptedNames")
