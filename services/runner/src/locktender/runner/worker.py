"""The consumers that feed this process, one for each kind of task."""

from locktender.contracts.deployments.models import RunnerKind
from locktender.contracts.kernel.subjects import COMMANDS_STREAM
from locktender.runner.runs import Runs
from locktender.runner.settings import RunnerSettings
from locktender.runtime.service import Service
from locktender.runtime.slots import Slots
from locktender.runtime.worker import JetStreamWorker


def workers(service: Service[RunnerSettings], runs: Runs) -> dict[str, JetStreamWorker]:
    """By the name of their consumer, see `subjects.CONSUMERS`."""
    sizes = {RunnerKind.DIRECT: service.settings.slots}
    if service.settings.noop_runner:
        sizes[RunnerKind.NOOP] = service.settings.noop_slots
    return {f"runner-{kind}": _worker(service, runs, f"runner-{kind}", size) for kind, size in sizes.items()}


def _worker(service: Service[RunnerSettings], runs: Runs, consumer: str, slots: int) -> JetStreamWorker:
    return JetStreamWorker(
        service.bus,
        COMMANDS_STREAM,
        consumer,
        slots=Slots(slots),
        claim=runs.claim,
        clock=service.clock,
        stop=service.stop,
        faults=service.faults,
        drain_seconds=service.settings.drain_seconds,
    )
