"""How long to wait before trying again. Pure: the randomness is an argument."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Backoff:
    """Exponential, capped, with jitter: the wait lies between half and the whole of the step."""

    first: float = 0.1
    factor: float = 2.0
    ceiling: float = 30.0

    def delay(self, attempt: int, chance: float) -> float:
        """Seconds before the next try, after `attempt` failures (1 or more); `chance` in [0, 1)."""
        exponent = min(max(attempt, 1) - 1, 63)
        step = min(self.first * self.factor**exponent, self.ceiling)
        return step * (0.5 + chance / 2)
