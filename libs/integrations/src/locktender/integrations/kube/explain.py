"""Refusals of clusters and of manifests as the reason of a failed run: a stable code and words for people."""

from locktender.contracts.deployments.models import FailureReason
from locktender.contracts.kernel.errors import Rejected
from locktender.integrations.kube.errors import (
    KubeConflict,
    KubeDenied,
    KubeError,
    KubeInvalid,
    KubeQuotaExceeded,
    KubeUnauthorized,
    KubeUnavailable,
    KubeUnknownKind,
)

_SHOWN_FINDINGS = 3
# The first class that fits decides, so the special stand before the general.
_CODES: tuple[tuple[type[KubeError], FailureReason], ...] = (
    (KubeQuotaExceeded, FailureReason.QUOTA_EXCEEDED),
    (KubeDenied, FailureReason.DENIED),
    (KubeUnauthorized, FailureReason.UNAUTHORIZED),
    (KubeUnavailable, FailureReason.CLUSTER_UNREACHABLE),
    (KubeUnknownKind, FailureReason.UNKNOWN_KIND),
    (KubeConflict, FailureReason.APPLY_CONFLICT),
    (KubeInvalid, FailureReason.INVALID_MANIFEST),
    (KubeError, FailureReason.APPLY_FAILED),
)


def explain(error: BaseException) -> tuple[FailureReason, str]:
    """The reason code and the message of a run that `error` ended.

    Codes: apply-failed, apply-conflict, denied, unauthorized, cluster-unreachable, invalid-manifest, unknown-kind,
    quota-exceeded. An error that nobody foresaw is apply-failed in general words; its own words are not repeated.
    """
    if isinstance(error, Rejected):
        shown = "; ".join(finding.message for finding in error.findings[:_SHOWN_FINDINGS])
        more = len(error.findings) - _SHOWN_FINDINGS
        return FailureReason.INVALID_MANIFEST, f"{shown}; and {more} more" if more > 0 else shown
    for kind, code in _CODES:
        if isinstance(error, kind):
            return code, str(error)
    return FailureReason.APPLY_FAILED, "applying the manifests failed unexpectedly; the operator's log has the details"
