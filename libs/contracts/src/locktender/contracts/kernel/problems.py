"""The problems (RFC 9457) that the HTTP interface can answer with, declared once."""

from dataclasses import dataclass
from enum import Enum


@dataclass(frozen=True, slots=True)
class ProblemKind:
    """One stable `type` URN with its status and title."""

    slug: str
    status: int
    title: str

    @property
    def urn(self) -> str:
        """The `type` of the problem document; it never changes."""
        return f"urn:locktender:problem:{self.slug}"


class Problem(Enum):
    """Every problem, by name."""

    INVALID_REQUEST = ProblemKind("invalid-request", 400, "The request cannot be accepted")
    INVALID_CURSOR = ProblemKind("invalid-cursor", 400, "The cursor is not one of ours")
    UNAUTHENTICATED = ProblemKind("unauthenticated", 401, "No valid token")
    FORBIDDEN = ProblemKind("forbidden", 403, "Not allowed")
    NOT_FOUND = ProblemKind("not-found", 404, "Not found")
    METHOD_NOT_ALLOWED = ProblemKind("method-not-allowed", 405, "Method not allowed")
    NOT_CANCELLABLE = ProblemKind("not-cancellable", 409, "The task has already ended")
    NOT_WAITING = ProblemKind("not-waiting", 409, "The task does not wait for inputs")
    NOT_REDEPLOYABLE = ProblemKind("not-redeployable", 409, "The task cannot be redeployed")
    ALREADY_REDEPLOYED = ProblemKind("already-redeployed", 409, "Somebody else is redeploying the task")
    NOT_PLACEABLE = ProblemKind("not-placeable", 409, "The task has already ended")
    IDEMPOTENCY_MISMATCH = ProblemKind("idempotency-mismatch", 409, "The idempotency key was used for another request")
    TOO_LARGE = ProblemKind("too-large", 413, "The request is too large")
    UNSUPPORTED_MEDIA_TYPE = ProblemKind("unsupported-media-type", 415, "Send application/json")
    CLUSTER_REFUSED = ProblemKind("cluster-refused", 422, "The cluster refuses")
    INTERNAL = ProblemKind("internal", 500, "Something went wrong on our side")
    CLUSTER_UNAVAILABLE = ProblemKind("cluster-unavailable", 502, "The cluster does not answer")
    UNAVAILABLE = ProblemKind("unavailable", 503, "Temporarily unavailable")
