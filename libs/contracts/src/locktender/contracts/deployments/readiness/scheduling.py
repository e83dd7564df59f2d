"""Why no node takes a pod, and what to do about it."""

import re

from locktender.contracts.deployments.cards import Grace, Trouble
from locktender.contracts.deployments.observed import Observed, condition, is_false, is_true, name_of, text

_GROWS = "; a cluster that grows may yet add a node"
_CAUSES: tuple[tuple[str, str], ...] = (
    (r"unbound immediate persistentvolumeclaims", "see why its claims are not bound"),
    (r"volume node affinity conflict", "its volume is on other nodes: let it run there, or move the volume"),
    (r"didn't match pod's node affinity|node\(s\) didn't match node selector",
     f"no node has the labels it asks for: correct nodeSelector and affinity{_GROWS}"),
    (r"untolerated taint|had taint", f"give it tolerations for the taints, or free nodes of them{_GROWS}"),
    (r"insufficient cpu", f"lower its CPU requests, or add nodes{_GROWS}"),
    (r"insufficient memory", f"lower its memory requests, or add nodes{_GROWS}"),
    (r"insufficient", f"lower its requests, or add nodes with what it asks for{_GROWS}"),
    (r"too many pods", f"the nodes are full: add nodes{_GROWS}"),
    (r"anti-affinity|topology spread", f"loosen its anti-affinity or spread constraints, or add nodes{_GROWS}"),
    (r"free ports", "another pod uses its host port on every node"),
    (r"max volume count", f"the nodes carry as many volumes as they can: add nodes{_GROWS}"),
    (r"no nodes available", f"the cluster has no nodes{_GROWS}"),
)  # fmt: skip
_NO_CLAIM = re.compile(r'persistentvolumeclaim "?([^" ]+)"? not found', re.IGNORECASE)


def scheduling_trouble(pod: Observed, event: Observed | None) -> Trouble | None:
    """Why this pod has no node; None when it has one, or nobody tried yet. `event`: its last FailedScheduling.

    Has a patience of its own, because nodes may be on their way; a claim that does not exist is a missing reference.
    """
    scheduled = condition(pod, "PodScheduled")
    if is_true(scheduled) or text(pod, "spec", "nodeName"):
        return None
    refused = is_false(scheduled) and scheduled.get("reason") == "Unschedulable"
    if not refused and (event is None or scheduled.get("reason") == "SchedulingGated"):
        return None
    told = (text(event, "message") or text(event, "note")) if event is not None else ""
    said = text(scheduled, "message") or told or "nothing more is said"
    name, words = name_of(pod), said.lower()
    message = f"no node takes pod {name}: {said}"
    missing = _NO_CLAIM.search(said)
    if missing:
        hint = f"create the claim {missing.group(1)}, or correct its name in the pod"
        return Trouble("Unschedulable", message, hint, Grace.CONFIG, name)
    fallback = f"lower its requests, or add nodes{_GROWS}"
    hint = next((hint for pattern, hint in _CAUSES if re.search(pattern, words)), fallback)
    return Trouble("Unschedulable", message, hint, Grace.SCHEDULE, name)
