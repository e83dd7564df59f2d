"""What holds for every document of one run: the request's options, the run's stamp, and how long things may take."""

from dataclasses import dataclass, field

from locktender.contracts.deployments.models import ApplyOptions, FailureReason
from locktender.contracts.kernel.errors import LocktenderError
from locktender.integrations.kube.desired import Autoscalers
from locktender.integrations.kube.stamps import Stamp


class ApplyStopped(LocktenderError):
    """Applying ends here, for a reason that people are told in these words."""

    def __init__(self, reason: FailureReason, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.reason = reason
        self.hint = hint


@dataclass(frozen=True, slots=True)
class Bounds:
    """How long the parts of an apply may take, in seconds.

    Attributes:
        document: the tries of one document against a cluster that is busy or away.
        write: one write of an object that exists; a late one is refused by its precondition.
        fenced_write: one write that has no precondition. Shorter than what is left of a lease that was just confirmed.
        namespace: the wait for a namespace, or an object, that is being deleted.
        definition: the wait until the cluster serves the kinds that the source defines.
        replacement: the wait until an object that is to be replaced is gone.
        plan: all dry runs together; what was not asked by then is applied without.
        clean_up: removing what a run has made, after applying failed half-way.
        run: the whole run, from the start of the executor.
        at_once: documents of one group that are sent at the same time.
    """

    document: float = 60.0
    write: float = 30.0
    fenced_write: float = 4.5
    namespace: float = 60.0
    definition: float = 30.0
    replacement: float = 120.0
    plan: float = 120.0
    clean_up: float = 60.0
    run: float = 1800.0
    at_once: int = 8


@dataclass(frozen=True, slots=True)
class Terms:
    """What one run applies by."""

    stamp: Stamp
    namespace: str | None
    options: ApplyOptions = field(default_factory=ApplyOptions)
    autoscalers: Autoscalers = field(default_factory=lambda: Autoscalers("default"))
    bounds: Bounds = field(default_factory=Bounds)
