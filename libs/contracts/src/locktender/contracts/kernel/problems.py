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
    NAME_TAKEN = ProblemKind("name-taken", 409, "The name is taken")
    STACK_BUSY = ProblemKind("stack-busy", 409, "A deployment of the stack has not ended")
    STACK_UNCERTAIN = ProblemKind("stack-uncertain", 409, "What an apply did is unknown until a refresh")
    NOT_CONFIRMABLE = ProblemKind("not-confirmable", 409, "The deployment does not wait for a confirmation")
    STALE_PLAN = ProblemKind("stale-plan", 409, "What was planned is not what is there now")
    NOT_SKIPPABLE = ProblemKind("not-skippable", 409, "The deployment cannot be skipped any more")
    NOT_RETRYABLE = ProblemKind("not-retryable", 409, "The deployment cannot be retried")
    NOT_PRIORITIZABLE = ProblemKind("not-prioritizable", 409, "The deployment has already ended")
    NOT_ASSIGNED = ProblemKind("not-assigned", 409, "The run is not promised to this runner")
    GROUP_IN_USE = ProblemKind("group-in-use", 409, "Stacks or runners still need the runner group")
    TOKEN_KEPT = ProblemKind("token-kept", 409, "The runner group still has an old token that is valid")
    LEASE_LOST = ProblemKind("lease-lost", 409, "The run is another epoch's, or has ended")
    ALREADY_KEPT = ProblemKind("already-kept", 409, "Other bytes are kept in this place, and stay")
    LOG_GAP = ProblemKind("log-gap", 409, "Bytes before this piece of the log are missing")
    STATE_CONFLICT = ProblemKind("state-conflict", 409, "The state is not the successor of the one that is stored")
    REMOVED = ProblemKind("removed", 410, "It was removed when its time was over")
    STATE_LOCKED = ProblemKind("state-locked", 423, "The state is locked")
    TOO_LARGE = ProblemKind("too-large", 413, "The request is too large")
    UNSUPPORTED_MEDIA_TYPE = ProblemKind("unsupported-media-type", 415, "The body has the wrong media type")
    SOURCE_REFUSED = ProblemKind("source-refused", 422, "The source cannot be used")
    CLUSTER_REFUSED = ProblemKind("cluster-refused", 422, "The cluster refuses")
    INTERNAL = ProblemKind("internal", 500, "Something went wrong on our side")
    SOURCE_UNAVAILABLE = ProblemKind("source-unavailable", 502, "The repository does not answer")
    CLUSTER_UNAVAILABLE = ProblemKind("cluster-unavailable", 502, "The cluster does not answer")
    UNAVAILABLE = ProblemKind("unavailable", 503, "Temporarily unavailable")
