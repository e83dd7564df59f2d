"""What each service may publish and subscribe to on NATS: the one table from which every server configuration is made.

Nothing is allowed that is not named here. A user's inbox prefix is its own, so that no service reads the answers
meant for another; `inbox_prefix` gives the value that a client has to be connected with.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal, get_args

from locktender.contracts.kernel.subjects import COMMANDS, CONSUMERS, EVENTS, LOGS

Identity = Literal["api", "outbox", "runner", "reaper", "cleanup", "ops"]
"""Who connects: the five services, and `ops` for the people who run them. Each has an NKey of its own."""

IDENTITIES: tuple[Identity, ...] = get_args(Identity)


@dataclass(frozen=True, slots=True)
class Rights:
    """Subjects that one identity may use; NATS wildcards.

    Attributes:
        publish: may be published to.
        subscribe: may be subscribed to.
        answers: may reply to a request it received, wherever the reply goes.
    """

    publish: tuple[str, ...]
    subscribe: tuple[str, ...]
    answers: bool


def inbox_prefix(identity: Identity) -> str:
    """The inbox prefix that `identity` has to connect with. Without it no answer reaches it."""
    return f"_INBOX_{identity}"


def _service(name: Identity, publish: tuple[str, ...] = (), subscribe: tuple[str, ...] = ()) -> Rights:
    return Rights(
        publish=("lt.poke.>", "lt.cancel.>", *publish),
        subscribe=(f"{inbox_prefix(name)}.>", f"lt.poke.{name}", f"lt.ops.{name}.>", "$SRV.>", *subscribe),
        answers=True,
    )


def _pull(service: Identity) -> tuple[str, ...]:
    """To bind to the consumers of `service`, fetch from them and acknowledge. Never to create or change one."""
    own = [(each.stream, each.name) for each in CONSUMERS if each.name.startswith(f"{service}-")]
    streams = dict.fromkeys(f"$JS.API.STREAM.INFO.{stream}" for stream, _ in own)
    consumers = (
        subject
        for stream, name in own
        for subject in (
            f"$JS.API.CONSUMER.INFO.{stream}.{name}",
            f"$JS.API.CONSUMER.MSG.NEXT.{stream}.{name}",
            f"$JS.ACK.{stream}.{name}.>",
        )
    )
    return (*streams, *consumers)


_DECLARE = (
    "$JS.API.INFO",
    "$JS.API.STREAM.CREATE.*",
    "$JS.API.STREAM.UPDATE.*",
    "$JS.API.STREAM.INFO.*",
    "$JS.API.STREAM.NAMES",
    "$JS.API.STREAM.LIST",
    "$JS.API.CONSUMER.CREATE.>",
    "$JS.API.CONSUMER.DURABLE.CREATE.>",
    "$JS.API.CONSUMER.INFO.>",
    "$JS.API.CONSUMER.NAMES.*",
    "$JS.API.CONSUMER.LIST.*",
)

_LOOK = (
    "$JS.API.INFO",
    "$JS.API.STREAM.INFO.>",
    "$JS.API.STREAM.NAMES",
    "$JS.API.STREAM.LIST",
    "$JS.API.CONSUMER.INFO.>",
    "$JS.API.CONSUMER.NAMES.>",
    "$JS.API.CONSUMER.LIST.>",
)

RIGHTS: Mapping[Identity, Rights] = MappingProxyType(
    {
        # Fans events and logs out to its clients, tells what runs said, and is the custodian of submitted credentials.
        "api": _service("api", publish=(LOGS,), subscribe=(EVENTS, LOGS, "lt.custody.*")),
        # The only publisher of events and commands, and the only one that declares streams and consumers. It can
        # neither delete nor purge one.
        "outbox": _service("outbox", publish=(EVENTS, COMMANDS, *_DECLARE)),
        # Takes commands, asks custodians, hears cancellations. What its runs say goes to the API, over HTTP.
        "runner": _service("runner", publish=("lt.custody.*", *_pull("runner")), subscribe=("lt.cancel.>",)),
        "reaper": _service("reaper"),
        "cleanup": _service("cleanup", publish=_pull("cleanup")),
        # Looks at everything, asks services to act, changes nothing by itself.
        "ops": Rights(
            publish=("$SRV.>", "lt.ops.>", *_LOOK),
            subscribe=(f"{inbox_prefix('ops')}.>", EVENTS, "$JS.EVENT.ADVISORY.>"),
            answers=False,
        ),
    }
)
