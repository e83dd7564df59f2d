"""Every NATS subject, stream and consumer, declared once.

Events tell what is true; commands hint that a row is claimable; pokes save a poll. Only the first two are stored.
"""

from dataclasses import dataclass
from uuid import UUID

from locktender.contracts.kernel.ids import Workspace

EVENTS_STREAM = "LT_EVENTS"
COMMANDS_STREAM = "LT_COMMANDS"
LOGS_STREAM = "LT_LOGS"

EVENTS = "lt.evt.>"
COMMANDS = "lt.cmd.>"
LOGS = "lt.log.>"

MESSAGE_LIMIT = 4096
"""Bytes in a message body, at most: ids and facts. Content stays in Postgres."""


EVENT_SUBJECT = "lt.evt.{workspace}.{context}.{aggregate}.{kind}"
"""Filled in here for readers, and in SQL by the statement that writes the outbox row."""


def event(workspace: Workspace, context: str, aggregate: UUID, kind: str) -> str:
    """The subject of one kind of event of one aggregate."""
    return EVENT_SUBJECT.format(workspace=workspace, context=context, aggregate=aggregate, kind=kind)


DEPLOYMENT_COMMAND_PREFIX = "lt.cmd.deployment."
RUN_COMMAND_PREFIX = "lt.cmd.run."
CLEANUP_COMMAND_PREFIX = "lt.cmd.cleanup."


DEFAULT_GROUP = "default"
"""The runner group of our own runner service."""


def deployment_command(runner: str) -> str:
    """Says that a queued deployment task waits for this kind of runner."""
    return DEPLOYMENT_COMMAND_PREFIX + runner


def run_command(group: str) -> str:
    """Says that a run of a stack waits for a runner of this group."""
    return RUN_COMMAND_PREFIX + group


def run_log(run: UUID) -> str:
    """Where the output of a run goes, as it comes."""
    return f"lt.log.{run}"


def cleanup_command(kind: str) -> str:
    """Says that a cleanup job of this kind waits."""
    return CLEANUP_COMMAND_PREFIX + kind


def poke(service: str) -> str:
    """Wakes a service before its next poll. May be lost."""
    return f"lt.poke.{service}"


def cancel(task: UUID) -> str:
    """Tells whoever runs the task that a cancel request is on the row. May be lost."""
    return f"lt.cancel.{task}"


CANCELS = "lt.cancel.*"


def custody(instance: str) -> str:
    """Where an API instance answers for the credentials it holds."""
    return f"lt.custody.{instance}"


@dataclass(frozen=True, slots=True)
class StreamSpec:
    """A JetStream stream as code."""

    name: str
    subjects: tuple[str, ...]
    description: str
    work_queue: bool
    max_age_seconds: int
    max_bytes: int
    duplicate_window_seconds: int


@dataclass(frozen=True, slots=True)
class ConsumerSpec:
    """A durable pull consumer as code. Deliveries are unlimited: attempts are counted in Postgres."""

    name: str
    stream: str
    filter_subject: str
    description: str
    ack_wait_seconds: int
    max_ack_pending: int


_GIB = 1024**3

STREAMS = (
    StreamSpec(
        EVENTS_STREAM, (EVENTS,), "What happened, in order per aggregate", work_queue=False,
        max_age_seconds=7 * 86_400, max_bytes=2 * _GIB, duplicate_window_seconds=120,
    ),
    StreamSpec(
        COMMANDS_STREAM, (COMMANDS,), "Hints that a row can be claimed; the row decides", work_queue=True,
        max_age_seconds=86_400, max_bytes=_GIB, duplicate_window_seconds=120,
    ),
    StreamSpec(
        LOGS_STREAM, (LOGS,), "Output of runs", work_queue=False,
        max_age_seconds=86_400, max_bytes=_GIB, duplicate_window_seconds=120,
    ),
)  # fmt: skip

CONSUMERS = (
    ConsumerSpec(
        "runner-direct", COMMANDS_STREAM, deployment_command("direct"),
        "Deployment tasks for the direct runner", ack_wait_seconds=30, max_ack_pending=4096,
    ),
    ConsumerSpec(
        "runner-template", COMMANDS_STREAM, deployment_command("template"),
        "Deployment tasks for the template runner", ack_wait_seconds=30, max_ack_pending=4096,
    ),
    ConsumerSpec(
        "runner-stacks", COMMANDS_STREAM, run_command(DEFAULT_GROUP),
        "Runs of stacks for the runner service", ack_wait_seconds=30, max_ack_pending=4096,
    ),
    ConsumerSpec(
        "runner-noop", COMMANDS_STREAM, deployment_command("noop"),
        "Deployment tasks for the no-op runner of benchmarks", ack_wait_seconds=30, max_ack_pending=4096,
    ),
    ConsumerSpec(
        "cleanup-retention", COMMANDS_STREAM, cleanup_command("retention"),
        "Finished deployment tasks whose retention has ended", ack_wait_seconds=30, max_ack_pending=1024,
    ),
)  # fmt: skip
