"""The life of a cleanup job. It is retried for ever: what cannot be proved or removed today is tried again."""

from enum import StrEnum

from locktender.contracts.kernel.machine import Actor, Fence, Machine, Transition


class JobStatus(StrEnum):
    """What is true of a cleanup job."""

    PENDING = "pending"
    RUNNING = "running"
    DONE = "done"


class JobKind(StrEnum):
    """What a job removes."""

    RETENTION = "retention"
    """A deployment task that ended longer ago than its retention, with its events."""


_P, _R, _D = JobStatus.PENDING, JobStatus.RUNNING, JobStatus.DONE

CLAIM = Transition("claim", frozenset({_P}), _R, Actor.RUNNER, Fence.ACQUIRE, None)
RENEW = Transition("renew", frozenset({_R}), None, Actor.RUNNER, Fence.HOLD, None)
FINISH = Transition("finish", frozenset({_R}), _D, Actor.RUNNER, Fence.RELEASE, None)
RETRY = Transition("retry", frozenset({_R}), _P, Actor.RUNNER, Fence.RELEASE, None)
EXPIRE = Transition("expire", frozenset({_R}), _P, Actor.REAPER, Fence.BREAK, None)
HINT = Transition("hint", frozenset({_P}), None, Actor.REAPER, Fence.NONE, None)

CLEANUP_JOB = Machine(
    name="cleanup_job",
    states=JobStatus,
    initial=_P,
    leased=frozenset({_R}),
    transitions=(CLAIM, RENEW, FINISH, RETRY, EXPIRE, HINT),
)
