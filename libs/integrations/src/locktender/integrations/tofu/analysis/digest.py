"""From what the engine says about a plan or a state to what is kept of it."""

import gc
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager
from typing import TypeVar

from locktender.contracts.stacks.analysis import PlanChanges, PlanSummary, RunAnalysis
from locktender.integrations.tofu.analysis.changes import plan_changes
from locktender.integrations.tofu.analysis.counting import failed_summary, summarised
from locktender.integrations.tofu.analysis.graph import resource_graph
from locktender.integrations.tofu.analysis.inventory import DescribedState, described_state, prior_values
from locktender.integrations.tofu.analysis.learning import learn_plan
from locktender.integrations.tofu.analysis.reading import Json, Unreadable, an_object, read_document
from locktender.integrations.tofu.analysis.withholding import Withheld

_Section = TypeVar("_Section")


def analyse_plan(
    document: bytes, *, has_changes: bool, narrowed: bool, secrets: Iterable[str] = ()
) -> tuple[PlanSummary, RunAnalysis]:
    """What a plan would do, from the output of `show -json PLANFILE`.

    Args:
        document: the output, as it is.
        has_changes: whether the engine ended with exit code 2. It is taken as true whatever the document says.
        narrowed: whether `-target` or `-exclude` was given, which no document tells.
        secrets: further secret values, such as those of the environment.

    Guarantees: never raises for a document; of one that cannot be read comes a summary that says so. Nothing that the
    engine marks as sensitive, no value of a sensitive variable and none of `secrets` is in the result (see `Withheld`
    about short values). The same document gives the same result, byte by byte.

    Does not guarantee: that a secret which nothing marks is withheld.
    """
    with _no_collection():
        return _plan_digest(document, secrets, has_changes=has_changes, narrowed=narrowed)


def _plan_digest(
    document: bytes, secrets: Iterable[str], *, has_changes: bool, narrowed: bool
) -> tuple[PlanSummary, RunAnalysis]:
    withheld = Withheld()
    withheld.add(secrets)
    known = _tried(lambda: _known_plan(document, withheld))
    if known is None:
        return failed_summary(has_changes, narrowed), RunAnalysis()
    described, prior = known
    told = _tried(lambda: _summary_and_changes(described, withheld, has_changes=has_changes, narrowed=narrowed))
    return (
        told[0] if told else failed_summary(has_changes, narrowed),
        RunAnalysis(
            plan_changes=told[1] if told else None,
            state_resources=_tried(lambda: prior.inventory(withheld)),
            resource_graph=_tried(lambda: resource_graph(an_object(described.get("configuration")))),
        ),
    )


def analyse_state(document: bytes, *, secrets: Iterable[str] = ()) -> RunAnalysis:
    """What a state holds, from the output of `show -json`. The sections that a state cannot tell are absent.

    Guarantees the same as `analyse_plan`; of a document that cannot be read all sections are absent.
    """
    withheld = Withheld()
    withheld.add(secrets)
    with _no_collection():
        state = _tried(lambda: _known_state(document, withheld).inventory(withheld))
    return RunAnalysis(state_resources=state)


def _known_plan(document: bytes, withheld: Withheld) -> tuple[Json, DescribedState]:
    described = read_document(document)
    if "configuration" not in described or "planned_values" not in described:
        # A state looks alike, and says nothing about changes.
        raise Unreadable("the document does not describe a plan")
    # All secrets are learnt before the first text is written.
    learn_plan(described, withheld)
    return described, described_state(prior_values(described), withheld)


def _known_state(document: bytes, withheld: Withheld) -> DescribedState:
    described = read_document(document)
    if "planned_values" in described:
        raise Unreadable("the document describes a plan")
    return described_state(an_object(described.get("values")), withheld)


def _summary_and_changes(
    described: Json, withheld: Withheld, *, has_changes: bool, narrowed: bool
) -> tuple[PlanSummary, PlanChanges]:
    changes = plan_changes(described, withheld)
    return summarised(described, changes, has_changes=has_changes, narrowed=narrowed), changes


@contextmanager
def _no_collection() -> Generator[None]:
    """Keep the cyclic collector from looking through a million new values, none of them a cycle, again and again.

    It takes as long as everything else together otherwise. It stays off if it was.
    """
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()


def _tried(section: Callable[[], _Section]) -> _Section | None:
    """What it returns; None if it fails. Errors may quote the document, so nothing of them is kept."""
    try:
        return section()
    except Exception:  # noqa: BLE001 - a strange document must cost no more than its analysis
        return None
