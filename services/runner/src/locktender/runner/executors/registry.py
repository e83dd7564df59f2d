"""Which executor carries out which kind of task, and what the kind asks of the process around it."""

from collections.abc import Mapping
from dataclasses import dataclass

from locktender.contracts.deployments.models import RunnerKind
from locktender.runner.executors.run import Executor


@dataclass(frozen=True, slots=True)
class Registered:
    """An executor with its needs.

    Attributes:
        credentials: the run starts by asking the task's custodian.
        kept: the lease is renewed while it runs. Without that the run must end well within one lease.
    """

    executor: Executor
    credentials: bool = True
    kept: bool = True


Executors = Mapping[str, Registered]
"""By the `runner` of a task; see `RunnerKind`."""


def executors(direct: Executor, noop: Executor | None, template: Executor | None = None) -> Executors:
    """What this process can carry out."""
    known: dict[str, Registered] = {RunnerKind.DIRECT: Registered(direct)}
    if template is not None:
        known[RunnerKind.TEMPLATE] = Registered(template)
    if noop is not None:
        known[RunnerKind.NOOP] = Registered(noop, credentials=False, kept=False)
    return known
