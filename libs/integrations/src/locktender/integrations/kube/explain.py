"""Refusals of clusters and of manifests as the reason of a failed run: a stable code and words for people."""

from locktender.contracts.deployments.models import FailureReason
from locktender.contracts.kernel.errors import Rejected
from locktender.integrations.kube.errors import (
    KubeConflict,
    KubeDenied,
    KubeError,
    KubeImmutable,
    KubeInvalid,
    KubeQuotaExceeded,
    KubeTerminating,
    KubeUnauthorized,
    KubeUnavailable,
    KubeUnknownKind,
    Outage,
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
    (KubeTerminating, FailureReason.NAMESPACE_TERMINATING),
    (KubeImmutable, FailureReason.IMMUTABLE_FIELD),
    (KubeInvalid, FailureReason.INVALID_MANIFEST),
    (KubeError, FailureReason.APPLY_FAILED),
)


def explain(error: BaseException) -> tuple[FailureReason, str]:
    """The reason code and the message of a run that `error` ended.

    Codes: apply-failed, apply-conflict, denied, unauthorized, cluster-unreachable, invalid-manifest, unknown-kind,
    quota-exceeded, immutable-field, namespace-terminating. What to do next says `hint_of`. An error that nobody
    foresaw is apply-failed in general words; its own words are not repeated.
    """
    if isinstance(error, Rejected):
        shown = "; ".join(finding.message for finding in error.findings[:_SHOWN_FINDINGS])
        more = len(error.findings) - _SHOWN_FINDINGS
        return FailureReason.INVALID_MANIFEST, f"{shown}; and {more} more" if more > 0 else shown
    if isinstance(error, KubeUnavailable) and error.outage is Outage.WEBHOOK:
        # The cluster itself was reached.
        return FailureReason.APPLY_FAILED, str(error)
    for kind, code in _CODES:
        if isinstance(error, kind):
            return code, str(error)
    return FailureReason.APPLY_FAILED, "applying the manifests failed unexpectedly; the operator's log has the details"


def hint_of(error: BaseException) -> str | None:
    """One line on what to do about `error`, where that is known. It repeats nothing that a server said of a Secret."""
    return error.hint if isinstance(error, KubeError) else None
