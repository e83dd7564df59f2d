"""What the events of a run tell: lines for people, and payloads of bounded size."""

import json
from collections.abc import Mapping

from locktender.contracts.deployments.models import Timeline
from locktender.contracts.deployments.policy import itemised
from locktender.storage.deployments.writes import Told

_SHOWN = 25
"""Documents named in a payload, of each sort; the timeline has all of them."""

_LINE = 600


def line(text: str, limit: int = _LINE) -> str:
    """`text` on one line of bounded length."""
    flat = " ".join(text.split())
    return flat if len(flat) <= limit else f"{flat[:limit]}..."


def told(message: str, trace: str, facts: Mapping[str, object] | None = None) -> Told:
    """An event of a run."""
    return Told(line(message), json.dumps(facts, ensure_ascii=False) if facts else "{}", "runner", trace)


def items(timeline: Timeline) -> dict[str, object]:
    """What the run did and did not do: counts, and the first documents of each sort by name."""
    sorts = itemised(timeline)
    counts = {sort: len(names) for sort, names in sorts.items()}
    return {**{sort: names[:_SHOWN] for sort, names in sorts.items()}, "counts": counts}


def stopped(timeline: Timeline) -> str:
    """What a person is told about a cancelled run."""
    sorts = itemised(timeline)
    done, total = len(sorts["applied"]), len(timeline.cards)
    if not done and not sorts["unknown"]:
        return "cancelled; nothing was applied"
    said = f"cancelled; {done} of {total} documents were applied and stay in the cluster"
    if sorts["unknown"]:
        said += f"; of {', '.join(sorts['unknown'][:3])} it is not known"
    return said
