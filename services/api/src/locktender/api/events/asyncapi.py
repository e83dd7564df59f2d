"""The AsyncAPI 3 document of every subject on the bus, made by FastStream from declarations and contracts.

The broker here is never connected: it only describes.
"""

import json
import re
from dataclasses import dataclass
from functools import cache, partial
from typing import Any
from uuid import UUID

from faststream.nats import NatsBroker
from faststream.specification import AsyncAPI
from pydantic import BaseModel, Field

from locktender.api.ops import STATUS
from locktender.contracts.deployments.events import CONTEXT, KINDS, REMOVED, DeploymentCommand, TaskEvent
from locktender.contracts.deployments.models import RunnerKind
from locktender.contracts.kernel import subjects
from locktender.contracts.kernel.envelope import DEDUP_HEADER, REVISION_HEADER, SOURCE, TOMBSTONE_HEADER
from locktender.contracts.kernel.permissions import IDENTITIES
from locktender.contracts.stacks import events as stacks

Json = dict[str, Any]


class CleanupCommand(BaseModel):
    """A hint that this cleanup job can be claimed. The row decides."""

    id: UUID


class CustodyQuestion(BaseModel):
    """What is held for this task, sealed for this key?"""

    id: UUID
    epoch: int = Field(gt=0)
    key: str = Field(description="Raw X25519 public key of the runner's boot, URL-safe base64.")


class Nothing(BaseModel):
    """The body is empty: the subject says it all."""


class OpsRequest(BaseModel):
    """What an operator asks; see `nats micro info`."""


@dataclass(frozen=True, slots=True)
class Channel:
    """One subject. `stored`: in a JetStream stream, with CloudEvents headers, at least once."""

    name: str
    subject: str
    body: type[BaseModel]
    description: str
    stored: bool = False
    heard_by_api: bool = False


_EVENT_TEXT = {REMOVED: "The task is gone: the last event it ever sends, a tombstone."}
_STACK_TEXT = {
    stacks.STACK_UNCERTAIN: "An apply was lost: what it did is unknown until a refresh has looked.",
    stacks.STACK_CERTAIN: "A refresh has looked: what is there is known again.",
    stacks.STACK_DELETED: "The stack is no more: the last event it ever sends, a tombstone.",
}


def _channels() -> list[Channel]:
    event = partial(subjects.EVENT_SUBJECT.format, workspace="{workspace}", aggregate="{aggregate}")
    events = [
        *(_event(f"deployment-{kind}", event(context=CONTEXT, kind=kind), TaskEvent, kind) for kind in KINDS),
        *(
            _event(
                f"stack-deployment-{kind}", event(context=stacks.CONTEXT, kind=kind), stacks.StackDeploymentEvent, kind
            )
            for kind in stacks.KINDS
        ),
        *(
            _event(kind, event(context=stacks.CONTEXT, kind=kind), stacks.StackEvent, kind)
            for kind in stacks.STACK_KINDS
        ),
    ]
    commands = [
        Channel(
            f"command-deployment-{kind.value}", subjects.deployment_command(kind.value), DeploymentCommand,
            "A task can be claimed by this kind of runner. Losing it costs one sweep.", stored=True,
        )
        for kind in RunnerKind
    ]  # fmt: skip
    pokes = [
        Channel(f"poke-{name}", subjects.poke(name), Nothing, f"Wakes `{name}` before its next poll. May be lost.")
        for name in IDENTITIES
        if name != "ops"
    ]
    return [
        *events,
        *commands,
        Channel(
            "command-cleanup-retention", subjects.cleanup_command("retention"), CleanupCommand,
            "A finished task whose retention has ended can be removed.", stored=True,
        ),
        Channel(
            "command-run", subjects.run_command("{group}"), stacks.RunCommand,
            "A run of a stack waits for a runner of this group. Losing it costs one sweep.", stored=True,
        ),
        Channel(
            "run-log", "lt.log.{run}", stacks.LogPiece,
            "A piece of the log of a run, which is kept elsewhere by now. The header `lt-offset` says where it begins. "
            "May be lost: whoever misses one looks at the record.",
            heard_by_api=True,
        ),
        *pokes,
        Channel(
            "cancel", "lt.cancel.{task}", Nothing,
            "A cancel request is on the row of this task, or run. May be lost: renewals tell it as well.",
        ),
        Channel(
            "custody", "lt.custody.{instance}", CustodyQuestion,
            "Asks an API instance for what it holds for a task. The reply has the header `lt-custody`: `sealed` "
            '(HPKE ciphertext, bound to workspace, task and epoch) or `refused` (`{"error": CODE}`).',
            heard_by_api=True,
        ),
        Channel("ops-api-status", STATUS, OpsRequest, "Custody and streams of an API instance.", heard_by_api=True),
        Channel(
            "ops", "lt.ops.{service}.{operation}", OpsRequest,
            "What operators ask a service to do; each service lists its own under the NATS micro protocol.",
        ),
    ]  # fmt: skip


def _event(name: str, subject: str, body: type[BaseModel], kind: str) -> Channel:
    text = (_EVENT_TEXT | _STACK_TEXT).get(kind, f"`{kind}` was recorded. Facts only; the rest is read from the API.")
    return Channel(name, subject, body, text, stored=True, heard_by_api=True)


@cache
def asyncapi_document() -> str:
    """The document as JSON text; the same text for the same code."""
    channels = _channels()
    broker = NatsBroker("nats://localhost:4222", description="Account of Locktender; one NKey a service.")
    for channel in channels:
        _declare(broker, channel)
    specification = AsyncAPI(
        broker,
        title="Locktender",
        version="1",
        description="Everything that is said on the bus. Postgres is the record, the bus is a hint.",
        schema_version="3.0.0",
    ).to_specification()
    document: Json = json.loads(specification.to_json())
    _completed(document, {channel.subject for channel in channels if channel.stored})
    return json.dumps(document, indent=2, sort_keys=True, ensure_ascii=False) + "\n"


def _declare(broker: NatsBroker, channel: Channel) -> None:
    """Stored subjects are published; a subject that the API hears is one that it receives."""
    if channel.heard_by_api:
        broker.subscriber(channel.subject, title=channel.name, description=channel.description, no_reply=True)(
            _handler(channel.body)
        )
    else:
        broker.publisher(channel.subject, title=channel.name, description=channel.description, schema=channel.body)


def _handler(body: type[BaseModel]) -> Any:
    async def receive(message: BaseModel) -> None:
        """Only describes."""

    receive.__annotations__["message"] = body
    return receive


def _completed(document: Json, stored: set[str]) -> None:
    """Set right what FastStream cannot be told: parameters of addresses, headers, and that nothing is correlated."""
    messages: Json = document["components"]["messages"]
    for message in messages.values():
        message.pop("correlationId", None)
    for channel in document["channels"].values():
        names = _PARAMETER.findall(channel["address"])
        if names:
            channel["parameters"] = {name: {"description": _PARAMETERS[name]} for name in names}
        if channel["address"] in stored:
            for message in channel["messages"].values():
                messages[message["$ref"].rpartition("/")[2]]["headers"] = _HEADERS


_PARAMETER = re.compile(r"\{(\w+)\}")
_PARAMETERS = {
    "workspace": "The tenant.",
    "aggregate": "The id of the task, the deployment or the stack.",
    "task": "The id of the task or run.",
    "run": "The id of the run.",
    "group": "The runner group; `default` is our own runner service.",
    "instance": "The boot of an API instance, as the task names it.",
    "service": "One of the services.",
    "operation": "What to do.",
}
_TEXT: Json = {"type": "string"}
_HEADERS: Json = {
    "type": "object",
    "description": "CloudEvents 1.0 in binary mode.",
    "required": ["ce-specversion", "ce-id", "ce-source", "ce-type", "ce-subject", "ce-time", DEDUP_HEADER],
    "properties": {
        "ce-specversion": {"const": "1.0"},
        "ce-id": {"type": "string", "format": "uuid"},
        "ce-source": {"const": SOURCE},
        "ce-type": _TEXT,
        "ce-subject": {"type": "string", "description": "The aggregate."},
        "ce-time": {"type": "string", "format": "date-time"},
        "content-type": {"const": "application/json"},
        DEDUP_HEADER: {"type": "string", "description": "Equal to `ce-id`."},
        REVISION_HEADER: {
            "type": "string",
            "pattern": "^[0-9]+$",
            "description": "Rises by one from event to event of an aggregate. Commands have none.",
        },
        TOMBSTONE_HEADER: {"const": "true", "description": "On the last event of an aggregate."},
        "traceparent": {"type": "string", "description": "W3C trace context of what caused the message."},
    },
}
