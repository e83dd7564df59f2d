"""What the events of a run tell: lines for people, and payloads of bounded size."""

import json
from collections.abc import Mapping

from locktender.contracts.deployments.evidence import items, stopped
from locktender.storage.deployments.writes import Told

__all__ = ["items", "line", "stopped", "told"]

_LINE = 600


def line(text: str, limit: int = _LINE) -> str:
    """`text` on one line of bounded length."""
    flat = " ".join(text.split())
    return flat if len(flat) <= limit else f"{flat[:limit]}..."


def told(message: str, trace: str, facts: Mapping[str, object] | None = None) -> Told:
    """An event of a run."""
    return Told(line(message), json.dumps(facts, ensure_ascii=False) if facts else "{}", "runner", trace)
