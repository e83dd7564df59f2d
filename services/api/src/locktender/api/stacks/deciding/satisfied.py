"""Whether a deployment is already what somebody wants it to be, so that asking again is answered and not refused."""

from locktender.contracts.stacks.flow import DeploymentStatus
from locktender.contracts.stacks.views import DeploymentView, RunView
from locktender.contracts.stacks.vocabulary import RunMode
from locktender.contracts.stacks.wire import Narrowing

_D = DeploymentStatus
_STOPPED = frozenset({_D.REQUESTED_CANCELLATION, _D.CANCELLING, _D.CANCELLED, _D.SKIPPED})


def confirmed(view: DeploymentView, plan_digest: str) -> bool:
    """Exactly this plan is being applied, or was. One whose apply failed or was stopped is not what was wanted."""
    if view.status not in {_D.APPLYING, _D.FINISHED}:
        return False
    runs = _runs(view)
    plans = {run.id for run in runs if run.binding is not None and run.binding.plan_digest == plan_digest}
    return any(run.mode is RunMode.APPLY and run.plan_run_id in plans for run in runs)


def replanned(view: DeploymentView, narrowing: Narrowing) -> bool:
    """A plan that is restricted in just this way was asked for, and has not come to its end."""
    if view.status not in {_D.PENDING, _D.PLANNING}:
        return False
    runs = _runs(view)
    return len(runs) > 1 and runs[-1].narrowing == narrowing


def skipped(view: DeploymentView) -> bool:
    """It was skipped, by whomever."""
    return view.status is _D.SKIPPED


def stopped(view: DeploymentView) -> bool:
    """It was stopped, or its runner was asked to."""
    return view.status in _STOPPED


def prioritized(view: DeploymentView) -> bool:
    """It goes first."""
    return view.prioritized_at is not None


def deprioritized(view: DeploymentView) -> bool:
    """Its age counts."""
    return view.prioritized_at is None


def _runs(view: DeploymentView) -> list[RunView]:
    return [stage.run for stage in view.stages if stage.run is not None]
