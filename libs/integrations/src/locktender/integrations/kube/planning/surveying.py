"""The survey: every document of a source, dry-run in the order of applying."""

import asyncio
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from locktender.contracts.deployments.models import ApplyOptions
from locktender.contracts.deployments.ordering import apply_order
from locktender.contracts.deployments.plan import Plan, PlannedAction, PlannedDocument, summary_of
from locktender.contracts.kernel.clock import Clock
from locktender.integrations.kube.client import KubeClient
from locktender.integrations.kube.desired import Autoscalers
from locktender.integrations.kube.errors import KubeUnavailable, Outage
from locktender.integrations.kube.live import Live
from locktender.integrations.kube.planning.asking import Asking, Item
from locktender.integrations.kube.planning.dry_run import DryRun
from locktender.integrations.kube.planning.hindsight import reconsidered
from locktender.integrations.kube.planning.surroundings import surroundings
from locktender.integrations.kube.secrets import is_secret, secret_values
from locktender.integrations.kube.stamps import Stamp

_SHORTEST_SECRET = 8
_MOST_SECRETS = 500
_MOST_CHANGES = 5_000


@dataclass(frozen=True, slots=True)
class Survey:
    """What was found out.

    Attributes:
        live: what to remember of each object that was there when it was looked at, by the index of its document.
        autoscalers: the ones of the source, and of the namespaces that it goes to as far as they could be listed.
    """

    plan: Plan
    live: Mapping[int, Live]
    autoscalers: Autoscalers


@dataclass(slots=True)
class _Findings:
    documents: dict[int, PlannedDocument] = field(default_factory=dict[int, PlannedDocument])
    live: dict[int, Live] = field(default_factory=dict[int, Live])
    autoscalers: Autoscalers = field(default_factory=lambda: Autoscalers("default"))


async def survey(
    client: KubeClient,
    items: Sequence[Item],
    *,
    namespace: str | None,
    options: ApplyOptions,
    stamp: Stamp,
    clock: Clock,
    seconds: float,
    concurrency: int = 8,
) -> Survey:
    """Ask the cluster, by dry runs, what applying `items` would do. Nothing is written, and no object is kept.

    Values of Secrets, and what looks like one, are withheld from the plan. What was not asked when `seconds` were over
    is `unknown` in it.

    Args:
        client: the cluster.
        items: documents of one source. An object without a name gets the one that the task of `stamp` gives it.
        namespace: for objects that name none.
        options: how they are going to be applied.
        stamp: the run that is going to apply them.
        clock: for the pauses between tries.
        seconds: for everything.
        concurrency: requests at once.

    Raises:
        KubeUnauthorized: the credentials are not accepted.
        KubeUnavailable: the cluster is away, or said nothing about any document in time.
    """
    ordered = [items[place] for place in apply_order([item.ref for item in items])]
    asking = Asking(clock, concurrency=concurrency)
    findings = _Findings()
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await _find_out(client, ordered, namespace, options, stamp, asking, findings)
    if not findings.documents and ordered:
        message = f"the cluster did not say anything about the documents within {seconds:g} s"
        raise KubeUnavailable(message, Outage.TIMEOUT, hint="check its address and network")
    found = (findings.documents.get(item.index) or _not_asked(item, seconds) for item in ordered)
    documents = tuple(_bounded(reconsidered(found, ordered)))
    return Survey(Plan(documents=documents, summary=summary_of(documents)), findings.live, findings.autoscalers)


async def _find_out(
    client: KubeClient,
    ordered: Sequence[Item],
    namespace: str | None,
    options: ApplyOptions,
    stamp: Stamp,
    asking: Asking,
    findings: _Findings,
) -> None:
    around = await surroundings(client, ordered, namespace, asking)
    findings.autoscalers = around.autoscalers
    dry_run = DryRun(client, around, asking, namespace, options, stamp, _secrets_of(ordered))

    async def look(item: Item) -> None:
        document, live = await dry_run.verdict(item)
        findings.documents[item.index] = document
        if live is not None:
            findings.live[item.index] = live

    await asking.each(ordered, look)


def _secrets_of(items: Sequence[Item]) -> Collection[str]:
    """The secret values of the source that are long enough to be told from ordinary words."""
    values = (value for item in items if is_secret(item.body) for value in secret_values(item.body))
    return [value for value in dict.fromkeys(values) if len(value) >= _SHORTEST_SECRET][:_MOST_SECRETS]


def _bounded(documents: Iterable[PlannedDocument]) -> Iterator[PlannedDocument]:
    """The documents, with no more changes in all than a person would read and a row should hold."""
    left = _MOST_CHANGES
    for document in documents:
        told = document.changes[:left]
        left -= len(told)
        omitted = document.omitted + len(document.changes) - len(told)
        yield document.model_copy(update={"changes": told, "omitted": omitted})


def _not_asked(item: Item, seconds: float) -> PlannedDocument:
    message = f"the cluster was not asked within {seconds:g} s"
    return PlannedDocument(index=item.index, ref=item.ref, action=PlannedAction.UNKNOWN, message=message)
