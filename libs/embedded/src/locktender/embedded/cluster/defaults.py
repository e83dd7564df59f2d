"""What the server fills in when an object does not say it. Only what clients and controllers here look at."""

from collections.abc import Callable

from locktender.embedded.cluster.shapes import Obj, obj_at, objs_at, own


def fill(kind: str, obj: Obj) -> None:
    """Complete an object of a standard kind in place; calling it again changes nothing."""
    if kind in _BY_KIND:
        _BY_KIND[kind](obj)


def _pod_spec(spec: Obj) -> None:
    spec.setdefault("restartPolicy", "Always")
    spec.setdefault("terminationGracePeriodSeconds", 30)
    spec.setdefault("dnsPolicy", "ClusterFirst")
    spec.setdefault("schedulerName", "default-scheduler")
    for container in [*objs_at(spec, "initContainers"), *objs_at(spec, "containers")]:
        image = container.get("image")
        floating = isinstance(image, str) and (image.endswith(":latest") or ":" not in image.rsplit("/", 1)[-1])
        container.setdefault("imagePullPolicy", "Always" if floating else "IfNotPresent")
        container.setdefault("terminationMessagePath", "/dev/termination-log")
        container.setdefault("terminationMessagePolicy", "File")
        for port in objs_at(container, "ports"):
            port.setdefault("protocol", "TCP")


def _template(obj: Obj) -> None:
    spec = obj_at(obj, "spec", "template", "spec")
    if spec:
        _pod_spec(spec)


def _deployment(obj: Obj) -> None:
    spec = own(obj, "spec")
    spec.setdefault("replicas", 1)
    spec.setdefault("revisionHistoryLimit", 10)
    spec.setdefault("progressDeadlineSeconds", 600)
    strategy = own(spec, "strategy")
    if strategy.setdefault("type", "RollingUpdate") == "RollingUpdate":
        rolling = own(strategy, "rollingUpdate")
        rolling.setdefault("maxUnavailable", "25%")
        rolling.setdefault("maxSurge", "25%")
    _template(obj)


def _replica_set(obj: Obj) -> None:
    own(obj, "spec").setdefault("replicas", 1)
    _template(obj)


def _stateful_set(obj: Obj) -> None:
    spec = own(obj, "spec")
    spec.setdefault("replicas", 1)
    spec.setdefault("podManagementPolicy", "OrderedReady")
    spec.setdefault("revisionHistoryLimit", 10)
    own(spec, "updateStrategy").setdefault("type", "RollingUpdate")
    _template(obj)


def _daemon_set(obj: Obj) -> None:
    own(obj, "spec", "updateStrategy").setdefault("type", "RollingUpdate")
    _template(obj)


def _job(obj: Obj) -> None:
    spec = own(obj, "spec")
    spec.setdefault("parallelism", 1)
    spec.setdefault("completions", 1)
    spec.setdefault("backoffLimit", 6)
    spec.setdefault("suspend", False)
    _template(obj)


def _cron_job(obj: Obj) -> None:
    spec = own(obj, "spec")
    spec.setdefault("suspend", False)
    spec.setdefault("concurrencyPolicy", "Allow")


def _service(obj: Obj) -> None:
    spec = own(obj, "spec")
    spec.setdefault("type", "ClusterIP")
    spec.setdefault("sessionAffinity", "None")
    for port in objs_at(spec, "ports"):
        port.setdefault("protocol", "TCP")
        port.setdefault("targetPort", port.get("port"))


def _claim(obj: Obj) -> None:
    own(obj, "spec").setdefault("volumeMode", "Filesystem")
    own(obj, "status").setdefault("phase", "Pending")


def _namespace(obj: Obj) -> None:
    own(obj, "status").setdefault("phase", "Active")
    own(obj, "spec").setdefault("finalizers", ["kubernetes"])
    own(obj, "metadata", "labels").setdefault("kubernetes.io/metadata.name", obj["metadata"]["name"])


def _secret(obj: Obj) -> None:
    obj.setdefault("type", "Opaque")


_BY_KIND: dict[str, Callable[[Obj], None]] = {
    "Pod": lambda obj: _pod_spec(own(obj, "spec")),
    "Deployment": _deployment,
    "ReplicaSet": _replica_set,
    "StatefulSet": _stateful_set,
    "DaemonSet": _daemon_set,
    "Job": _job,
    "CronJob": _cron_job,
    "Service": _service,
    "PersistentVolumeClaim": _claim,
    "Namespace": _namespace,
    "Secret": _secret,
}
