"""The record of every request that could change something, in the order in which the server decided it.

Tests use it as the truth about effects: each entry carries the task and epoch that the submitted object names in its
annotations, so that "nothing was written after the fence" can be proven.
"""

from collections import deque
from dataclasses import dataclass, field

from locktender.contracts.kernel.clock import Clock
from locktender.embedded.cluster.request import Target
from locktender.embedded.cluster.shapes import Obj, at, name_of, obj_at, text_at

TASK_ANNOTATION = "locktender.dev/task"
EPOCH_ANNOTATION = "locktender.dev/epoch"
_LIMIT = 100_000


@dataclass(slots=True)
class Ledger:
    """Entries by sequence number. Bounded: the oldest are forgotten first."""

    clock: Clock
    _entries: deque[Obj] = field(default_factory=lambda: deque[Obj](maxlen=_LIMIT))
    _next: int = 1

    def record(self, target: Target, user: str, query: dict[str, str], submitted: Obj, code: int, result: Obj) -> None:
        """Add what was decided about one request. Values of the object are not kept, only its two annotations."""
        annotations = obj_at(submitted, "metadata", "annotations")
        self._entries.append(
            {
                "sequence": self._next,
                "time": self.clock.now().isoformat(),
                "monotonic": self.clock.monotonic(),
                "user": user,
                "verb": target.verb,
                "group": target.resource.group,
                "resource": target.resource.plural,
                "subresource": target.subresource,
                "namespace": target.namespace,
                "name": target.name or name_of(submitted),
                "fieldManager": query.get("fieldManager", ""),
                "dryRun": query.get("dryRun") == "All",
                "code": code,
                "resourceVersion": text_at(result, "metadata", "resourceVersion"),
                "task": at(annotations, TASK_ANNOTATION),
                "epoch": at(annotations, EPOCH_ANNOTATION),
            }
        )
        self._next += 1

    def entries(self, *, since: int = 0) -> list[Obj]:
        """Entries with a sequence number above `since`, oldest first."""
        return [entry for entry in self._entries if entry["sequence"] > since]

    def clear(self) -> None:
        self._entries.clear()
