"""What an annotation on an object other than a pod asks its controller to do. See `behaviour` for pods.

`sandbox.locktender.dev/behaviour` on a Service or Ingress: `no-address`, `address-after:SECONDS`; on a StorageClass:
`fail` (with a provisioning error), `never`; on an APIService: `unavailable`; on a Gateway: `no-address`, `refuse`.
`sandbox.locktender.dev/replicas` on an autoscaler: the number that its metrics ask for.
"""

from locktender.embedded.cluster.controllers.behaviour import ANNOTATION
from locktender.embedded.cluster.shapes import Obj, obj_at

REPLICAS = "sandbox.locktender.dev/replicas"
_AFTER = "address-after:"


def word(obj: Obj | None) -> str:
    """What an object asks for, "" for nothing."""
    return str(obj_at(obj, "metadata", "annotations").get(ANNOTATION) or "")


def address_delay(obj: Obj) -> float | None:
    """Extra seconds until an object has an address; None for never."""
    said = word(obj)
    if said == "no-address":
        return None
    if said.startswith(_AFTER):
        try:
            return max(0.0, float(said.removeprefix(_AFTER)))
        except ValueError:
            return 0.0
    return 0.0
