"""What stands in the columns of the usual kinds, where it is more than the value of one field."""

from datetime import datetime
from typing import Any

from locktender.embedded.cluster.shapes import Obj, at, int_at, is_going, labels_of, list_at, obj_at, objs_at, text_at
from locktender.embedded.cluster.tables.ages import age, duration


def ready_replicas(obj: Obj) -> str:
    return f"{int_at(obj, 'status', 'readyReplicas')}/{int_at(obj, 'spec', 'replicas', default=1)}"


def pod_ready(pod: Obj) -> str:
    ready = sum(one.get("ready") is True for one in objs_at(pod, "status", "containerStatuses"))
    return f"{ready}/{len(list_at(pod, 'spec', 'containers'))}"


def pod_status(pod: Obj) -> str:
    """The phase, or the reason that says more than it."""
    said = text_at(pod, "status", "reason") or text_at(pod, "status", "phase") or "Pending"
    for one in objs_at(pod, "status", "containerStatuses"):
        state = obj_at(one, "state")
        reason = text_at(state, "waiting", "reason") or text_at(state, "terminated", "reason")
        said = reason or said
    for index, one in enumerate(objs_at(pod, "status", "initContainerStatuses")):
        state = obj_at(one, "state")
        if at(state, "terminated", "exitCode") == 0:
            continue
        total = len(list_at(pod, "spec", "initContainers"))
        reason = text_at(state, "terminated", "reason") or text_at(state, "waiting", "reason")
        return f"Init:{reason}" if reason and reason != "PodInitializing" else f"Init:{index}/{total}"
    return "Terminating" if is_going(pod) else said


def pod_restarts(pod: Obj) -> str:
    return str(sum(int_at(one, "restartCount") for one in objs_at(pod, "status", "containerStatuses")))


def containers(field: str) -> Any:
    def told(obj: Obj) -> str:
        return ",".join(text_at(one, field) for one in objs_at(obj, "spec", "template", "spec", "containers"))

    return told


def selector(obj: Obj) -> str:
    wanted = obj_at(obj, "spec", "selector")
    labels = obj_at(wanted, "matchLabels") if "matchLabels" in wanted else wanted
    told = ",".join(f"{name}={value}" for name, value in labels.items() if isinstance(value, str))
    return told or "<none>"


def service_address(service: Obj) -> str:
    """What the service is reached by from outside."""
    if text_at(service, "spec", "type") == "ExternalName":
        return text_at(service, "spec", "externalName")
    if text_at(service, "spec", "type") != "LoadBalancer":
        return ",".join(map(str, list_at(service, "spec", "externalIPs"))) or "<none>"
    return balancer(service) or "<pending>"


def balancer(obj: Obj) -> str:
    points = objs_at(obj, "status", "loadBalancer", "ingress")
    return ",".join(text_at(point, "ip") or text_at(point, "hostname") for point in points)


def service_ports(service: Obj) -> str:
    told = [
        f"{port.get('port')}{':' + str(port['nodePort']) if port.get('nodePort') else ''}/{port.get('protocol', 'TCP')}"
        for port in objs_at(service, "spec", "ports")
    ]
    return ",".join(told) or "<none>"


def ingress_hosts(ingress: Obj) -> str:
    hosts = [text_at(rule, "host") for rule in objs_at(ingress, "spec", "rules")]
    return ",".join(host for host in hosts if host) or "*"


def ingress_ports(ingress: Obj) -> str:
    return "80, 443" if list_at(ingress, "spec", "tls") else "80"


def size_of_data(obj: Obj) -> int:
    return len(obj_at(obj, "data")) + len(obj_at(obj, "binaryData"))


def job_status(job: Obj) -> str:
    for entry in objs_at(job, "status", "conditions"):
        if entry.get("status") == "True" and entry.get("type") in ("Complete", "Failed", "Suspended"):
            return text_at(entry, "type")
    return "Running"


def job_completions(job: Obj) -> str:
    return f"{int_at(job, 'status', 'succeeded')}/{int_at(job, 'spec', 'completions', default=1)}"


def job_duration(job: Obj, now: datetime) -> str:
    start, end = text_at(job, "status", "startTime"), text_at(job, "status", "completionTime")
    if not start:
        return ""
    if not end:
        return age(start, now)
    return duration((datetime.fromisoformat(end) - datetime.fromisoformat(start)).total_seconds())


def node_status(node: Obj) -> str:
    ready = any(c.get("type") == "Ready" and c.get("status") == "True" for c in objs_at(node, "status", "conditions"))
    return "Ready" if ready else "NotReady"


def node_roles(node: Obj) -> str:
    prefix = "node-role.kubernetes.io/"
    return ",".join(name.removeprefix(prefix) for name in labels_of(node) if name.startswith(prefix)) or "<none>"


def active_jobs(cron_job: Obj) -> int:
    return len(list_at(cron_job, "status", "active"))


def claim_modes(obj: Obj) -> str:
    short = {"ReadWriteOnce": "RWO", "ReadOnlyMany": "ROX", "ReadWriteMany": "RWX", "ReadWriteOncePod": "RWOP"}
    return ",".join(short.get(str(mode), str(mode)) for mode in list_at(obj, "spec", "accessModes"))


def claim_status(obj: Obj) -> str:
    return "Terminating" if is_going(obj) else text_at(obj, "status", "phase")


def volume_claim(volume: Obj) -> str:
    claim = obj_at(volume, "spec", "claimRef")
    return f"{text_at(claim, 'namespace')}/{text_at(claim, 'name')}" if claim else ""


def event_object(event: Obj) -> str:
    about = obj_at(event, "involvedObject")
    return f"{text_at(about, 'kind').lower()}/{text_at(about, 'name')}"


def event_seen(event: Obj, now: datetime) -> str:
    return age(event.get("lastTimestamp") or event.get("eventTime") or event.get("firstTimestamp"), now)


def scaler_reference(scaler: Obj) -> str:
    target = obj_at(scaler, "spec", "scaleTargetRef")
    return f"{text_at(target, 'kind')}/{text_at(target, 'name')}"


def scaler_targets(scaler: Obj) -> str:
    """Current and wanted use of each metric, `<unknown>` for what is not measured."""
    current = objs_at(scaler, "status", "currentMetrics")
    told: list[str] = []
    for index, metric in enumerate(objs_at(scaler, "spec", "metrics")):
        name = text_at(metric, "resource", "name") or text_at(metric, "type").lower()
        wanted = at(metric, "resource", "target", "averageUtilization")
        used = at(current[index], "resource", "current", "averageUtilization") if index < len(current) else None
        told.append(f"{name}: {'<unknown>' if used is None else f'{used}%'}/{wanted}%")
    return ", ".join(told) or "<none>"


def role_of(binding: Obj) -> str:
    return f"{text_at(binding, 'roleRef', 'kind')}/{text_at(binding, 'roleRef', 'name')}"


def slice_addresses(sliced: Obj) -> str:
    found = [str(address) for point in objs_at(sliced, "endpoints") for address in list_at(point, "addresses")]
    return ",".join(found[:3]) + (f" + {len(found) - 3} more..." if len(found) > 3 else "") or "<unset>"  # noqa: PLR2004 - as many as kubectl shows


def endpoint_addresses(points: Obj) -> str:
    found = [
        f"{text_at(address, 'ip')}:{port.get('port')}"
        for subset in objs_at(points, "subsets")
        for address in objs_at(subset, "addresses")
        for port in objs_at(subset, "ports")
    ]
    return ",".join(found[:3]) or "<none>"
