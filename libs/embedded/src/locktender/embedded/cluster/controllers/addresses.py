"""Addresses that balancers give to services, ingresses and gateways, after a while or never."""

import zlib

from locktender.embedded.cluster.controllers.plane import Plane
from locktender.embedded.cluster.controllers.script import address_delay
from locktender.embedded.cluster.shapes import Obj, name_of, namespace_of, uid_of


def balancer_ip(obj: Obj) -> str:
    """An address for documentation (RFC 5737), always the same for the same object."""
    return f"203.0.113.{zlib.crc32(f'{namespace_of(obj)}/{name_of(obj)}'.encode()) % 250 + 2}"


class Waits:
    """Since when objects wait for their address."""

    def __init__(self, plane: Plane) -> None:
        self._plane = plane
        self._since: dict[str, float] = {}

    def left(self, obj: Obj) -> float | None:
        """Seconds until the object has its address, 0 when it is due, None for never."""
        since = self._since.setdefault(uid_of(obj), self._plane.now)
        extra = address_delay(obj)
        if extra is None:
            return None
        pace = self._plane.pace
        due = since + pace.between(pace.balancer, name_of(obj)) + extra * pace.factor
        return max(0.0, due - self._plane.now)

    def forget(self, obj: Obj) -> None:
        self._since.pop(uid_of(obj), None)
