"""How fast things happen, in seconds of the injected clock."""

import zlib
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Pace:
    """The delays of the controllers. The defaults make a pod ready one to three seconds after its creation.

    Attributes:
        factor: multiplies every delay; 0 makes everything happen at once.
    """

    factor: float = 1.0
    scheduling: tuple[float, float] = (0.05, 0.3)
    starting: tuple[float, float] = (0.6, 1.8)
    readiness: tuple[float, float] = (0.2, 0.7)
    termination: tuple[float, float] = (0.2, 0.6)
    job: tuple[float, float] = (0.5, 1.5)
    provisioning: tuple[float, float] = (0.1, 0.5)
    balancer: tuple[float, float] = (0.3, 0.8)
    first_backoff: float = 1.0
    longest_backoff: float = 10.0

    def between(self, span: tuple[float, float], name: str) -> float:
        """A delay within `span` that is always the same for the same name, so that things do not move in step."""
        share = (zlib.crc32(name.encode()) % 1000) / 1000
        return self.factor * (span[0] + share * (span[1] - span[0]))

    def backoff(self, attempt: int) -> float:
        """The pause before try number `attempt` + 1, doubling up to a bound."""
        return self.factor * min(self.longest_backoff, self.first_backoff * 2 ** min(attempt, 10))
