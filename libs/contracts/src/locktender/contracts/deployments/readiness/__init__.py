"""Is an object ready? Pure: what the cluster says goes in, a verdict with words for people comes out.

A verdict is only about the present specification: a status that the controller wrote for an earlier generation never
makes anything ready and never makes anything fail. The table of kinds is in `kinds`.
"""

from locktender.contracts.deployments.cards import CardStatus, Readiness, Trouble
from locktender.contracts.deployments.readiness.progress import progress_mark
from locktender.contracts.deployments.readiness.rule import Reads
from locktender.contracts.deployments.readiness.selection import pod_selector, reads, watches_pods
from locktender.contracts.deployments.readiness.verdict import READINESS_ANNOTATION, assess, is_required, settled

__all__ = [
    "READINESS_ANNOTATION",
    "CardStatus",
    "Readiness",
    "Reads",
    "Trouble",
    "assess",
    "is_required",
    "pod_selector",
    "progress_mark",
    "reads",
    "settled",
    "watches_pods",
]
