"""Refusals of commands as problems, each with the deployment as it is now."""

from collections.abc import Awaitable, Callable
from typing import Final

from locktender.api.http.problems import ProblemError
from locktender.contracts.kernel.problems import Problem
from locktender.contracts.stacks.views import DeploymentView
from locktender.storage.stacks.refusals import (
    CommandRefused,
    NotConfirmable,
    NotPrioritizable,
    NotRetryable,
    NotSkippable,
    StackUncertain,
    StalePlan,
)

Snapshots = Callable[[str, str, int], Awaitable[DeploymentView]]
"""Workspace, stack and number: the deployment as it is now. Raises `NotFound` when it is gone."""


class NotCancellable(CommandRefused):
    """The deployment has ended in another way."""


_PROBLEMS: Final[dict[type[CommandRefused], Problem]] = {
    NotCancellable: Problem.NOT_CANCELLABLE,
    NotConfirmable: Problem.NOT_CONFIRMABLE,
    NotPrioritizable: Problem.NOT_PRIORITIZABLE,
    NotRetryable: Problem.NOT_RETRYABLE,
    NotSkippable: Problem.NOT_SKIPPABLE,
    StackUncertain: Problem.STACK_UNCERTAIN,
    StalePlan: Problem.STALE_PLAN,
}


def conflict(refused: CommandRefused, current: DeploymentView) -> ProblemError:
    """What the caller is told: why not, and what is true instead."""
    return with_snapshot(_PROBLEMS[type(refused)], str(refused), current)


def with_snapshot(problem: Problem, detail: str, current: DeploymentView | None) -> ProblemError:
    """A problem that carries a deployment, where there is still one to show."""
    snapshot = None if current is None else current.model_dump_json(by_alias=True).encode()
    return ProblemError(problem, detail, snapshot=snapshot)
