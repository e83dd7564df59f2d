"""ResourceQuotas: what a namespace uses, and what it may not use any more."""

from decimal import Decimal

from locktender.embedded.cluster.objects import Store
from locktender.embedded.cluster.policies.footprint import footprint
from locktender.embedded.cluster.quantity import amount, is_binary, written
from locktender.embedded.cluster.refusal import forbidden
from locktender.embedded.cluster.resources import Registry, Resource
from locktender.embedded.cluster.shapes import Obj, name_of, namespace_of, obj_at, objs_at

QUOTAS = "resourcequotas"
_COMPUTE = frozenset(
    {"cpu", "memory", *(f"{what}.{name}" for what in ("requests", "limits") for name in ("cpu", "memory"))}
)


def used_by(store: Store, registry: Registry, namespace: str, names: set[str]) -> dict[str, Decimal]:
    """How much of each of `names` a namespace uses. It looks at the objects of the kinds that count."""
    total = dict.fromkeys(names, Decimal(0))
    for resource in registry:
        if resource.namespaced and _may_count(resource, names):
            for obj in store.select(resource.qualified, namespace):
                for name, value in footprint(resource, obj).items():
                    if name in total:
                        total[name] += value
    return total


def _may_count(resource: Resource, names: set[str]) -> bool:
    if f"count/{resource.qualified}" in names or resource.qualified in names:
        return True
    match resource.qualified:
        case "pods":
            return any(name.startswith(("requests.", "limits.")) or name in _COMPUTE for name in names)
        case "persistentvolumeclaims":
            return "requests.storage" in names
        case "services":
            return any(name.startswith("services.") for name in names)
        case _:
            return False


def check_quota(store: Store, registry: Registry, resource: Resource, before: Obj | None, after: Obj) -> None:
    """Pass, or refuse what no quota of the namespace has room for.

    Raises:
        Refusal: 403, in the words of the real server.
    """
    quotas = store.select(QUOTAS, namespace_of(after)) if resource.qualified != QUOTAS else []
    if not quotas:
        return
    old = footprint(resource, before) if before is not None else {}
    asked = {
        name: value - old.get(name, Decimal(0))
        for name, value in footprint(resource, after).items()
        if value > old.get(name, Decimal(0))
    }
    for quota in quotas:
        hard = {name: amount(value) for name, value in obj_at(quota, "spec", "hard").items()}
        if before is None and resource.kind == "Pod":
            _check_said(resource, quota, hard, after)
        delta = {name: value for name, value in asked.items() if name in hard}
        used = used_by(store, registry, namespace_of(after), set(delta)) if delta else {}
        over = [name for name in delta if used[name] + delta[name] > hard[name]]
        if over:
            told = ", ".join(
                f"{word}: {_listing(table, over)}"
                for word, table in (("requested", delta), ("used", used), ("limited", hard))
            )
            raise forbidden(resource, name_of(after), f"exceeded quota: {name_of(quota)}, {told}")


def _check_said(resource: Resource, quota: Obj, hard: dict[str, Decimal], pod: Obj) -> None:
    """A quota on compute takes no pod that keeps silent about it."""
    missing: list[str] = []
    for limited in sorted(_COMPUTE & hard.keys()):
        what, _, name = limited.rpartition(".")
        silent = [
            str(container.get("name"))
            for container in objs_at(pod, "spec", "containers")
            if name not in obj_at(container, "resources", what or "requests")
        ]
        if silent:
            missing.append(f"{limited} for: {','.join(silent)}")
    if missing:
        raise forbidden(resource, name_of(pod), f"failed quota: {name_of(quota)}: must specify {'; '.join(missing)}")


def _listing(table: dict[str, Decimal], names: list[str]) -> str:
    return ",".join(f"{name}={written(table[name], binary=is_binary(name))}" for name in sorted(names))
