"""What the server fills in when an object does not say it. Only what clients and controllers here look at."""

from collections.abc import Callable

from locktender.embedded.cluster.shapes import Obj, at, is_obj, obj_at, objs_at, own

_FILE_MODE = 0o644
_PROBE = {"timeoutSeconds": 1, "periodSeconds": 10, "successThreshold": 1, "failureThreshold": 3}


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
        for entry in objs_at(container, "env"):
            if is_obj(at(entry, "valueFrom", "fieldRef")):
                entry["valueFrom"]["fieldRef"].setdefault("apiVersion", "v1")
        for name in ("livenessProbe", "readinessProbe", "startupProbe"):
            if is_obj(container.get(name)):
                _probe(container[name])
    for volume in objs_at(spec, "volumes"):
        for source in ("configMap", "secret", "projected", "downwardAPI"):
            if is_obj(volume.get(source)):
                volume[source].setdefault("defaultMode", _FILE_MODE)


def _probe(probe: Obj) -> None:
    for name, value in _PROBE.items():
        probe.setdefault(name, value)
    if is_obj(probe.get("httpGet")):
        probe["httpGet"].setdefault("path", "/")
        probe["httpGet"].setdefault("scheme", "HTTP")


def _pod(obj: Obj) -> None:
    _pod_spec(own(obj, "spec"))
    own(obj, "status").setdefault("phase", "Pending")


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
    strategy = own(spec, "updateStrategy")
    if strategy.setdefault("type", "RollingUpdate") == "RollingUpdate":
        own(strategy, "rollingUpdate").setdefault("partition", 0)
    retention = own(spec, "persistentVolumeClaimRetentionPolicy")
    retention.setdefault("whenDeleted", "Retain")
    retention.setdefault("whenScaled", "Retain")
    for claim in objs_at(spec, "volumeClaimTemplates"):
        own(claim, "spec").setdefault("volumeMode", "Filesystem")
    _template(obj)


def _daemon_set(obj: Obj) -> None:
    spec = own(obj, "spec")
    spec.setdefault("revisionHistoryLimit", 10)
    strategy = own(spec, "updateStrategy")
    if strategy.setdefault("type", "RollingUpdate") == "RollingUpdate":
        rolling = own(strategy, "rollingUpdate")
        rolling.setdefault("maxUnavailable", 1)
        rolling.setdefault("maxSurge", 0)
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
    spec.setdefault("successfulJobsHistoryLimit", 3)
    spec.setdefault("failedJobsHistoryLimit", 1)
    pod = obj_at(spec, "jobTemplate", "spec", "template", "spec")
    if pod:
        _pod_spec(pod)


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


def _autoscaler(obj: Obj) -> None:
    own(obj, "spec").setdefault("minReplicas", 1)


def _storage_class(obj: Obj) -> None:
    obj.setdefault("reclaimPolicy", "Delete")
    obj.setdefault("volumeBindingMode", "Immediate")


def _binding(obj: Obj) -> None:
    own(obj, "roleRef").setdefault("apiGroup", "rbac.authorization.k8s.io")
    for subject in objs_at(obj, "subjects"):
        if subject.get("kind") != "ServiceAccount":
            subject.setdefault("apiGroup", "rbac.authorization.k8s.io")


def _secret(obj: Obj) -> None:
    obj.setdefault("type", "Opaque")


_BY_KIND: dict[str, Callable[[Obj], None]] = {
    "Pod": _pod,
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
    "ReplicationController": _template,
    "HorizontalPodAutoscaler": _autoscaler,
    "StorageClass": _storage_class,
    "RoleBinding": _binding,
    "ClusterRoleBinding": _binding,
}
