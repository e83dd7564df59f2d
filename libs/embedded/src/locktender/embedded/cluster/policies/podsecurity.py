"""Pod Security admission by the labels of the namespace: the checks of `baseline` and `restricted` that matter."""

from collections.abc import Iterator
from typing import Any

from locktender.embedded.cluster.shapes import Obj, at, list_at, obj_at, objs_at, text_at

_LABEL = "pod-security.kubernetes.io/"
_DEFAULT_CAPABILITIES = frozenset(
    {
        "AUDIT_WRITE",
        "CHOWN",
        "DAC_OVERRIDE",
        "FOWNER",
        "FSETID",
        "KILL",
        "MKNOD",
        "NET_BIND_SERVICE",
        "SETFCAP",
        "SETGID",
        "SETPCAP",
        "SETUID",
        "SYS_CHROOT",
    }
)
_VOLUMES = ("configMap", "csi", "downwardAPI", "emptyDir", "ephemeral", "persistentVolumeClaim", "projected", "secret")
_SAFE = ("RuntimeDefault", "Localhost")


def violations(labels: Obj, mode: str, spec: Obj) -> str:
    """What a pod specification breaks in a namespace with these labels, as the server words it; "" for nothing.

    The mode is "enforce" or "warn".
    """
    level = labels.get(_LABEL + mode)
    if level not in ("baseline", "restricted"):
        return ""
    found = list(_baseline(spec))
    if level == "restricted":
        # The stricter word on capabilities replaces the weaker one.
        found = [text for text in found if not text.startswith("non-default capabilities")]
        found += _restricted(spec)
    version = labels.get(f"{_LABEL}{mode}-version", "latest")
    return f'violate PodSecurity "{level}:{version}": {", ".join(found)}' if found else ""


def _containers(spec: Obj) -> list[Obj]:
    return [*objs_at(spec, "initContainers"), *objs_at(spec, "containers")]


def _named(containers: list[Obj]) -> str:
    names = ", ".join(f'"{text_at(c, "name")}"' for c in containers)
    return f"container{'s' if len(containers) > 1 else ''} {names}"


def _secured(container: Obj, *path: str) -> Any:
    return at(container, "securityContext", *path)


def _baseline(spec: Obj) -> Iterator[str]:
    containers = _containers(spec)
    spaces = [f"{name}=true" for name in ("hostNetwork", "hostPID", "hostIPC") if spec.get(name) is True]
    if spaces:
        yield f"host namespaces ({', '.join(spaces)})"
    mounted = [text_at(v, "name") for v in objs_at(spec, "volumes") if at(v, "hostPath")]
    if mounted:
        names = ", ".join(f'"{name}"' for name in mounted)
        yield f"hostPath volumes (volume{'s' if len(mounted) > 1 else ''} {names})"
    ports = [c for c in containers if any(port.get("hostPort") for port in objs_at(c, "ports"))]
    if ports:
        numbers = [str(p["hostPort"]) for c in ports for p in objs_at(c, "ports") if p.get("hostPort")]
        yield f"hostPort ({_named(ports)} uses hostPort{'s' if len(numbers) > 1 else ''} {', '.join(numbers)})"
    privileged = [c for c in containers if _secured(c, "privileged") is True]
    if privileged:
        yield f"privileged ({_named(privileged)} must not set securityContext.privileged=true)"
    gifted = [c for c in containers if set(map(str, _added(c))) - _DEFAULT_CAPABILITIES]
    if gifted:
        names = sorted({str(name) for c in gifted for name in _added(c)} - _DEFAULT_CAPABILITIES)
        listing = ", ".join(f'"{name}"' for name in names)
        must = f"{_named(gifted)} must not include {listing} in securityContext.capabilities.add"
        yield f"non-default capabilities ({must})"
    open_ = [c for c in containers if _secured(c, "seccompProfile", "type") == "Unconfined"]
    if open_:
        yield f'seccompProfile ({_named(open_)} must not set securityContext.seccompProfile.type to "Unconfined")'


def _added(container: Obj) -> list[Any]:
    return list_at(container, "securityContext", "capabilities", "add")


def _restricted(spec: Obj) -> Iterator[str]:
    containers = _containers(spec)
    pod = obj_at(spec, "securityContext")
    rising = [c for c in containers if _secured(c, "allowPrivilegeEscalation") is not False]
    if rising:
        must = "must set securityContext.allowPrivilegeEscalation=false"
        yield f"allowPrivilegeEscalation != false ({_named(rising)} {must})"
    able = [c for c in containers if "ALL" not in list_at(c, "securityContext", "capabilities", "drop")]
    if able:
        must = 'must set securityContext.capabilities.drop=["ALL"]'
        yield f"unrestricted capabilities ({_named(able)} {must})"
    odd = [text_at(v, "name") for v in objs_at(spec, "volumes") if not any(kind in v for kind in _VOLUMES)]
    if odd:
        listed = ", ".join(f'volume "{name}"' for name in odd)
        yield f"restricted volume types ({listed} uses a restricted type)"
    rooted = [c for c in containers if _or_pod(c, pod, "runAsNonRoot") is not True]
    if rooted:
        yield f"runAsNonRoot != true (pod or {_named(rooted)} must set securityContext.runAsNonRoot=true)"
    root = [c for c in containers if _or_pod(c, pod, "runAsUser") == 0]
    if root:
        yield f"runAsUser=0 ({_named(root)} must not set runAsUser=0)"
    plain = [c for c in containers if text_at(_or_pod(c, pod, "seccompProfile"), "type") not in _SAFE]
    if plain:
        must = 'must set securityContext.seccompProfile.type to "RuntimeDefault" or "Localhost"'
        yield f"seccompProfile (pod or {_named(plain)} {must})"


def _or_pod(container: Obj, pod: Obj, name: str) -> Any:
    own = _secured(container, name)
    return own if own is not None else pod.get(name)
