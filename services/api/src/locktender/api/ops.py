"""What operators ask the API over NATS."""

from importlib.metadata import version

from locktender.api.events.fanout import Fanout
from locktender.runtime.bus import Bus
from locktender.runtime.custody import Custodian
from locktender.runtime.micro import OpsEndpoints

STATUS = "lt.ops.api.status"


def ops_endpoints(bus: Bus, custodian: Custodian, fanout: Fanout) -> OpsEndpoints:
    """`locktender-api` under the NATS micro protocol. Nothing in an answer is secret."""
    endpoints = OpsEndpoints(
        bus, "api", version=version("locktender-api"), description="HTTP and SSE, custody of credentials"
    )

    async def status(_: bytes) -> dict[str, object]:
        return {"custodyBytes": custodian.held_bytes, "streams": fanout.streams, "events": fanout.connected}

    endpoints.add("status", STATUS, status, "Credentials held in memory, and open streams", response="JSON object")
    return endpoints
