"""The verdict on an object, what becomes of it in time, and whether a deployment waits for it."""

from dataclasses import replace

from locktender.contracts.deployments.cards import CardStatus, Deadline, Readiness, blocked, pending, ready
from locktender.contracts.deployments.observed import (
    NOTHING,
    Observed,
    Related,
    annotation,
    clipped,
    generation_of,
    observed_generation,
    part,
    texts,
)
from locktender.contracts.deployments.patience import Patience
from locktender.contracts.deployments.readiness.kinds import rule_of

READINESS_ANNOTATION = "locktender.dev/readiness"
"""On an object: `required` makes a deployment wait for it, `optional` does not, `ignore` takes it as it is stored."""
WISHES = ("required", "optional", "ignore")

_MESSAGE_LIMIT, _REASON_LIMIT = 300, 100


def assess(obj: Observed, related: Related = NOTHING) -> Readiness:
    """The verdict on `obj` as the cluster returned it.

    Args:
        obj: the object, with its status.
        related: what else is known; `reads` says what is worth reading. Pods matter for ready workloads as well:
            without a probe, a container that crashes is available in between.

    Returns:
        A verdict whose status is `RUNNING` only if the present spec is fully in effect; a status or condition of an
        earlier generation never counts. It never raises, whatever the object lacks; its texts are single lines of at
        most 300 characters. A verdict with `trouble` is not yet a failure, and one with `doubt` not yet ready:
        `settled` decides in time.
    """
    verdict = _bounded(_judged(obj, related))
    if verdict.deadline is Deadline.OURS and not is_required(obj):
        return replace(verdict, deadline=Deadline.NONE)
    return verdict


def settled(readiness: Readiness, *, troubled_for: float, still_for: float, patience: Patience) -> Readiness:
    """What the verdict comes to in time.

    Args:
        readiness: what `assess` says now.
        troubled_for: seconds for which its trouble (by `Trouble.key`) has been seen without a break.
        still_for: seconds since `progress_mark` last changed.
        patience: how long each may last.

    Returns:
        A `RUNNING` verdict in doubt becomes `CREATING` until its doubt is over. A trouble that has spent its patience
        becomes `FAILED`, and so does anything without a deadline of its own that makes no progress (`no-progress`).
        Everything else stays as it is.
    """
    if readiness.status is CardStatus.RUNNING:
        return _believed(readiness, still_for, patience)
    if readiness.status in {CardStatus.FAILED, CardStatus.UNKNOWN}:
        return readiness
    trouble = readiness.trouble
    if trouble is not None and patience.spent(trouble, troubled_for):
        return replace(readiness, status=CardStatus.FAILED)
    if readiness.deadline is Deadline.OURS and still_for >= patience.progress:
        message = clipped(f"no progress for {patience.progress:g} s: {readiness.message}", _MESSAGE_LIMIT)
        return replace(readiness, status=CardStatus.FAILED, reason="no-progress", message=message)
    return readiness


def is_required(obj: Observed) -> bool:
    """Whether a deployment waits until this object is ready. The others are shown, and never end a deployment."""
    wish = annotation(obj, READINESS_ANNOTATION)
    return wish == "required" if wish in WISHES else not rule_of(obj).optional


def _judged(obj: Observed, related: Related) -> Readiness:
    if "deletionTimestamp" in part(obj, "metadata"):
        held = texts(obj, "metadata", "finalizers")
        said = f"it is being deleted, held by the finalizer {held[0]}" if held else "it is being deleted"
        return blocked(said, "Terminating", "wait until it is gone, then deploy again")
    if annotation(obj, READINESS_ANNOTATION) == "ignore":
        return ready("applied; its readiness is not asked for", "ignored")
    rule, seen = rule_of(obj), observed_generation(obj)
    if seen is None and rule.observes:
        return pending("waiting for the controller to see it")
    if seen is not None and seen < generation_of(obj):
        return pending("waiting for the controller to see the change")
    return rule.judge(obj, related)


def _believed(readiness: Readiness, still_for: float, patience: Patience) -> Readiness:
    doubt = readiness.doubt
    if doubt is None or still_for >= patience.before(doubt):
        return readiness
    trouble = readiness.trouble
    if trouble is None:
        return replace(readiness, status=CardStatus.CREATING, reason="unanswered", message="waiting for its controller")
    message = clipped(f"{readiness.message}, and watched: {trouble.message}", _MESSAGE_LIMIT)
    return replace(readiness, status=CardStatus.CREATING, reason=trouble.reason, message=message, hint=trouble.hint)


def _bounded(verdict: Readiness) -> Readiness:
    trouble = verdict.trouble
    return replace(
        verdict,
        reason=clipped(verdict.reason, _REASON_LIMIT),
        message=clipped(verdict.message, _MESSAGE_LIMIT),
        hint=None if verdict.hint is None else clipped(verdict.hint, _MESSAGE_LIMIT),
        trouble=None if trouble is None else replace(
            trouble, reason=clipped(trouble.reason, _REASON_LIMIT), message=clipped(trouble.message, _MESSAGE_LIMIT),
            hint=clipped(trouble.hint, _MESSAGE_LIMIT),
        ),
    )  # fmt: skip
