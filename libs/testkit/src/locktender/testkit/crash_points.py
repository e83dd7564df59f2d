"""Every place where a process may die in the middle of something, and the one true end of what it was doing.

An end is a status, or the reason of a failure. `tests/chaos` goes through all of them.
"""

from typing import Any

COMPLETED, FAILED, CANCELLED = "completed", "failed", "cancelled"
INTERRUPTED, LOST = "interrupted", "credentials-lost"

_RELAYING = {
    "outbox.before-publish": COMPLETED,
    "outbox.after-publish": COMPLETED,
    "outbox.after-mark": COMPLETED,
}
_CLAIMING = {
    "runner.before-claim": COMPLETED,
    "runner.after-claim": INTERRUPTED,
    "runner.claimed": INTERRUPTED,
    "runner.acked": INTERRUPTED,
}
_CARRYING_OUT = {
    "runner.before-apply": INTERRUPTED,
    "runner.after-effect": INTERRUPTED,
    "runner.before-outcome": INTERRUPTED,
    "runner.after-outcome": COMPLETED,
}

DEPLOYING = {
    "api.before-insert": COMPLETED,  # nothing was made, so the same request makes it
    "api.after-insert": LOST,  # the task is there, what its instance held in memory is not
    **_RELAYING,
    **_CLAIMING,
    **_CARRYING_OUT,
}
"""In the middle of a deployment that asks for nothing."""

ASKING = {
    "api.before-insert": COMPLETED,
    "api.after-insert": LOST,
    "runner.after-claim": INTERRUPTED,
    "runner.before-park": INTERRUPTED,
    "runner.before-outcome": INTERRUPTED,  # parking is an outcome, too
    "runner.after-outcome": COMPLETED,
    "runner.after-park": COMPLETED,  # a parked run needs nobody
}
"""Before a deployment waits for its inputs; they are given then."""

ANSWERING = {
    "api.before-submit-input": COMPLETED,  # nothing was written, so the same request writes it
    "api.after-submit-input": COMPLETED,  # the values are lost, and are asked for once more
    **_RELAYING,
    **_CLAIMING,
    "runner.before-allocate": INTERRUPTED,
    "runner.after-allocate": INTERRUPTED,
    **_CARRYING_OUT,
}
"""Once a deployment has its inputs."""

REDEPLOYING = {
    "api.before-insert": COMPLETED,
    "api.after-insert": LOST,
    "outbox.after-publish": COMPLETED,
    "runner.after-claim": INTERRUPTED,
    "runner.before-allocate": INTERRUPTED,
    "runner.after-allocate": INTERRUPTED,
    "runner.after-effect": INTERRUPTED,
    "runner.before-outcome": INTERRUPTED,
    "runner.after-outcome": COMPLETED,
}
"""While a deployment takes the place of another one."""

CLEARING = {
    "runner.during-cleanup": INTERRUPTED,
    "runner.before-outcome": INTERRUPTED,
    "runner.after-outcome": FAILED,
}
"""While a run removes again what it has made, because applying failed half-way."""

JUDGING = ("reaper.before-sweep", "reaper.after-sweep")
CANCELLING = ("api.after-cancel",)
REMOVING = (
    "cleanup.after-claim",
    "cleanup.before-remove",
    "cleanup.after-remove",
    "cleanup.claimed",
    "cleanup.acked",
)
RETAINING = (
    "cleanup.before-objects",
    "cleanup.after-objects",
    "cleanup.after-mark",
    "cleanup.after-rows",
    "cleanup.before-leftover",
)
"""While what stacks left is removed from the object store."""
TAKING = ("runner.before-take", "runner.after-take")
"""Around the take-over of a stack's run."""

PLACES = frozenset(
    {*DEPLOYING, *ASKING, *ANSWERING, *REDEPLOYING, *CLEARING, *JUDGING, *CANCELLING, *REMOVING, *RETAINING, *TAKING}
)
"""All of them."""


def end_of(snapshot: dict[str, Any]) -> str:
    """How a task ended, in one word: its status, or why it failed."""
    task = snapshot["task"]
    return task["failure"]["reason"] if task["status"] == FAILED else task["status"]
