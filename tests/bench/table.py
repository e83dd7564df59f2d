"""`python -m tests.bench.table < lines`: the lines of a run as the table of docs/benchmarks.md."""

import json
import sys
from typing import Any

_TARGETS = {
    "e2e": "≥ 2,000/s, ≥ 2.5x",
    "latency": "p50 ≤ 6 ms, p99 ≤ 20 ms",
    "transitions": "≥ 4x",
    "relay": "≥ 8,000/s",
    "cancel": "p99 ≤ 50 ms",
    "idle": "≤ 20/s",
    "kill": "p99 ≤ 4 s",
    "parse": "≥ 2,000/s",
    "render": "≥ 1,000/s",
    "watch": "≤ 0.2 cores",
    "streams": "≤ 0.02 cores",
}


def row(line: dict[str, Any]) -> str:
    """One row."""
    value = f"{line['value']:,g} {line['unit']}"
    if "p50_ms" in line:
        value = f"p50 {line['p50_ms']:,g} ms, p99 {line['p99_ms']:,g} ms"
    peers = "; ".join(f"{name} {_short(peer)}" for name, peer in line.get("peers", {}).items())
    ratio = "" if line["ratio"] is None else f"{line['ratio']:.2f}x"
    return (
        f"| `{line['figure']}` | {_TARGETS.get(line['figure'], '')} | {value} | {peers} | {ratio} | {line['load'][0]} |"
    )


def _short(peer: Any) -> str:
    return f"{peer['p50_ms']:,g} / {peer['p99_ms']:,g} ms" if isinstance(peer, dict) else f"{peer:,g}"


if __name__ == "__main__":
    print("| figure | target | reached | peers | ratio to the best | load |")  # noqa: T201 - its purpose
    print("|---|---|---|---|---|---|")  # noqa: T201 - its purpose
    for text in sys.stdin:
        if text.startswith("{"):
            print(row(json.loads(text)))  # noqa: T201 - its purpose
