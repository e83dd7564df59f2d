"""How patient the two ends of the run protocol are with each other."""

from dataclasses import dataclass

from locktender.contracts.kernel.backoff import Backoff
from locktender.contracts.stacks.wire import MAX_LOG_CHUNK

_RETRY = Backoff(first=0.1, ceiling=5.0)


@dataclass(frozen=True, slots=True)
class PortTerms:
    """Seconds and bytes of one run's conversation with the API.

    Attributes:
        attempt_seconds: for one try of a small request.
        transfer_seconds: for one try of a request that carries an artifact.
        context_seconds: until the context of a run is given up.
        artifact_seconds: until an artifact is given up.
        log_seconds: until one piece of the log counts as stuck; it is tried on all the same.
        acknowledge_seconds: until the confirmation of a cancel is given up.
        done_seconds: until the report of the end is given up; the lease then runs out.
        flush_seconds: how long the rest of the log may delay the report of the end.
        status_seconds: from one question for the status to the next.
        batch_seconds: how long a piece of the log waits for more.
        batch_bytes: of the log in one request.
        buffer_bytes: of the log that wait; beyond them whoever writes waits.
        backpressure_seconds: how long a writer waits for room.
        retry: the pauses between tries.
    """

    attempt_seconds: float = 10.0
    transfer_seconds: float = 120.0
    context_seconds: float = 60.0
    artifact_seconds: float = 300.0
    log_seconds: float = 20.0
    acknowledge_seconds: float = 10.0
    done_seconds: float = 180.0
    flush_seconds: float = 30.0
    status_seconds: float = 2.0
    batch_seconds: float = 0.2
    batch_bytes: int = MAX_LOG_CHUNK
    buffer_bytes: int = 4 * MAX_LOG_CHUNK
    backpressure_seconds: float = 30.0
    retry: Backoff = _RETRY


NORMAL = PortTerms()
