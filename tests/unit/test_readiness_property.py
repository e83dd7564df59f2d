"""Readiness under anything that a cluster may say: it never raises, never believes an old status, never says much."""

import random
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from locktender.contracts.deployments.cards import CardStatus, Readiness
from locktender.contracts.deployments.observed import Related
from locktender.contracts.deployments.patience import Patience
from locktender.contracts.deployments.readiness import (
    assess,
    is_required,
    pod_selector,
    progress_mark,
    settled,
)
from locktender.contracts.deployments.readiness.kinds import RULES

WORDS = [
    "status", "spec", "metadata", "conditions", "type", "reason", "message", "name", "phase", "state", "waiting",
    "terminated", "running", "lastState", "exitCode", "restartCount", "containerStatuses", "initContainerStatuses",
    "observedGeneration", "generation", "replicas", "updatedReplicas", "availableReplicas", "parents", "listeners",
    "parentRefs", "loadBalancer", "ingress", "webhooks", "clientConfig", "involvedObject", "annotations", "labels",
    "startedAt", "finishedAt", "selector", "template", "containers", "strategy", "updateStrategy", "completions",
]  # fmt: skip
VALUES = [
    "True", "False", "Unknown", "Ready", "Available", "Accepted", "Stalled", "Pending", "Running", "Failed", "Bound",
    "CrashLoopBackOff", "ErrImagePull", "Unschedulable", "PodScheduled", "FailedMount", "Unhealthy", "LoadBalancer",
    "2026-01-01T00:00:00Z", "2026-01-01T00:00:00", "OnDelete", "1", "ProgressDeadlineExceeded", "ReplicaFailure",
]  # fmt: skip
NUMBERS = [-1, 0, 1, 2, 3, 137, 2**31 - 1, 10**30, 1.5, float("nan"), True, False, None]
KINDS = [(f"{rule.group}/v1" if rule.group else "v1", kind) for rule in RULES for kind in rule.kinds]
KINDS += [("example.com/v1", "Widget"), ("serving.knative.dev/v1", "Service"), ("v1", "ConfigMap"), ("v1", "")]


class Babble:
    """Says anything that JSON can hold, mostly with words that verdicts look at. Fast, and the same for a seed."""

    def __init__(self, seed: int) -> None:
        self._dice = random.Random(seed)  # noqa: S311 - nothing is secret

    def value(self, depth: int = 4) -> Any:
        kind = self._dice.random()
        if depth == 0 or kind < 0.3:
            return self._dice.choice(VALUES) if kind < 0.2 else self._scalar()
        if kind < 0.55:
            return [self.value(depth - 1) for _ in range(self._dice.randrange(4))]
        return self.object(depth - 1)

    def object(self, depth: int = 4) -> dict[str, Any]:
        return {self._dice.choice(WORDS): self.value(depth) for _ in range(self._dice.randrange(7))}

    def shaped(self) -> dict[str, Any]:
        """An object whose parts are in their places, and may be anything."""
        kinds = self._dice.choice(["waiting", "running", "terminated"])
        state = {"name": "app", "state": {kinds: self._filled()}, "lastState": {"terminated": self._filled()}}
        status = self._filled() | {
            "conditions": [self._filled() for _ in range(self._dice.randrange(4))],
            "containerStatuses": [self._filled() | state],
            "parents": [{"conditions": [self._filled()]}],
        }
        return self.object(2) | {"metadata": self._filled(), "spec": self._filled(), "status": status}

    def _filled(self) -> dict[str, Any]:
        return self.object(1) | {word: self.value(1) for word in self._dice.sample(WORDS, 8)}

    def related(self) -> Related:
        def some() -> list[dict[str, Any]]:
            kinds = [self.object, self.shaped]
            return [self._dice.choice(kinds)() for _ in range(self._dice.randrange(3))]

        classes = {str(number): found for number, found in enumerate(some())}
        return Related(some(), some(), self._dice.choice([None, classes]), self._dice.choice([None, some()]))

    def kind(self) -> dict[str, str]:
        api, kind = self._dice.choice(KINDS)
        return {"apiVersion": api, "kind": kind}

    def _scalar(self) -> Any:
        if self._dice.random() < 0.8:
            return self._dice.choice(NUMBERS)
        return (chr(self._dice.randrange(0x3000)) + "\n") * self._dice.choice([0, 1, 900])


SEEDS = st.integers(0, 2**64)
SECONDS = st.floats(0, 10_000)


def is_bounded(verdict: Readiness) -> bool:
    said = [verdict.reason, verdict.message, verdict.hint or ""]
    if verdict.trouble is not None:
        said += [verdict.trouble.message, verdict.trouble.hint, verdict.trouble.reason]
    return all(len(text) <= 300 and "\n" not in text for text in said) and bool(verdict.message)


@settings(max_examples=200, deadline=None)
@given(seed=SEEDS, troubled_for=SECONDS, still_for=SECONDS)
def test_whatever_a_cluster_says_there_is_a_verdict_in_few_words(
    seed: int, troubled_for: float, still_for: float
) -> None:
    babble = Babble(seed)
    obj, related = babble.shaped() | babble.kind(), babble.related()
    verdict = assess(obj, related)
    assert is_bounded(verdict)
    assert is_bounded(settled(verdict, troubled_for=troubled_for, still_for=still_for, patience=Patience()))
    mark = progress_mark(obj, related)
    assert (hash(mark), mark) == (hash(progress_mark(obj, related)), progress_mark(obj, related))
    is_required(obj)
    pod_selector(obj)


@settings(max_examples=200, deadline=None)
@given(seed=SEEDS, generation=st.integers(2, 9))
def test_a_status_of_an_earlier_generation_never_makes_anything_ready_or_fail(seed: int, generation: int) -> None:
    babble = Babble(seed)
    metadata = {"name": "web", "generation": generation}
    status = babble.shaped()["status"] | {"observedGeneration": generation - 1}
    obj = babble.object() | babble.kind() | {"metadata": metadata, "status": status}
    assert assess(obj, babble.related()).status is CardStatus.PENDING


@settings(max_examples=100, deadline=None)
@given(seed=SEEDS)
def test_an_object_without_a_kind_has_a_verdict_too(seed: int) -> None:
    babble = Babble(seed)
    assert is_bounded(assess(babble.object(), babble.related()))
