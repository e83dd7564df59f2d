"""What a run that ended early did and did not do: facts of bounded size for an event, and words for a person."""

from locktender.contracts.deployments.models import Timeline
from locktender.contracts.deployments.policy import itemised

_SHOWN = 25
"""Documents named in a payload, of each sort; the timeline has all of them."""


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
