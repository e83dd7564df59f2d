"""What a figure says, and how it is said: one JSON line on standard output, progress on standard error."""

import json
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Figure:
    """One measured figure.

    Attributes:
        against: the best peer, or what else the value is held against; nothing where there is no peer.
        ratio: how many times better than that. Above one is better, whatever the unit.
        rest: everything else that belongs to the line.
    """

    figure: str
    value: float
    unit: str
    against: str | None = None
    ratio: float | None = None
    rest: dict[str, Any] = field(default_factory=dict[str, Any])


def emit(figure: Figure, seconds: float) -> None:
    """Print the line."""
    line = {
        "figure": figure.figure, "value": rounded(figure.value), "unit": figure.unit, "against": figure.against,
        "ratio": None if figure.ratio is None else rounded(figure.ratio), **figure.rest,
        "seconds": round(seconds, 1), "cores": os.cpu_count(), "load": [round(each, 2) for each in os.getloadavg()],
    }  # fmt: skip
    sys.stdout.write(json.dumps(line) + "\n")
    sys.stdout.flush()


def note(text: str) -> None:
    """Tell the person who waits."""
    sys.stderr.write(f"  · {text}\n")
    sys.stderr.flush()


def scaled(amount: float) -> float:
    """A duration or a count, shrunk by `LOCKTENDER_BENCH_SCALE` for those who only try the benchmark out."""
    return amount * float(os.environ.get("LOCKTENDER_BENCH_SCALE", "1"))


def quantile(values: Sequence[float], share: float) -> float:
    """The value that `share` of all do not exceed (nearest rank).

    Raises:
        ValueError: there are no values.
    """
    if not values:
        raise ValueError("nothing was measured")
    ordered = sorted(values)
    return ordered[max(0, min(len(ordered) - 1, round(share * len(ordered) + 0.5) - 1))]


def percentiles(milliseconds: Sequence[float]) -> dict[str, float]:
    """The two percentiles that every latency has."""
    return {
        "p50_ms": rounded(quantile(milliseconds, 0.50)),
        "p99_ms": rounded(quantile(milliseconds, 0.99)),
        "n": len(milliseconds),
    }


def rounded(value: float) -> float:
    """Three digits are more than the noise allows anyway."""
    return float(f"{value:.4g}")
