"""A request to deploy, examined: what may be stored, what only memory may hold, and every fault in one answer."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar
from uuid import UUID

from locktender.api.deployments.examining.examined import (
    Before,
    Examined,
    Redeploys,
    access_of,
    compact,
    finding,
    target_of,
)
from locktender.api.deployments.examining.manifested import STEPS, ManifestExaminer
from locktender.api.deployments.examining.templated import TemplateExaminer
from locktender.api.http.faults import validated
from locktender.contracts.deployments.models import CreateTask, RunnerKind, Timeline
from locktender.contracts.kernel.errors import Finding, Rejected
from locktender.integrations.kube.json_value import as_object, as_text

FindPredecessor = Callable[[UUID], Awaitable[Before]]
"""The task that may be redeployed. Raises what the caller is to be told when it may not."""

T = TypeVar("T")

_LARGE = 8 * 1024
_NOOP_TIMELINE = Timeline(steps=STEPS)
_NOOP_TEXT = _NOOP_TIMELINE.model_dump_json(by_alias=True)
_NOOP_SOURCE = '{"kind": "noop"}'


class Examiner:
    """Examines requests. Large ones are read in a thread, two at a time, so that others are answered meanwhile."""

    def __init__(self, *, manifests: ManifestExaminer, templates: TemplateExaminer, noop_runner: bool) -> None:
        self._manifests = manifests
        self._templates = templates
        self._noop_runner = noop_runner
        self._threads = asyncio.Semaphore(2)

    async def examine(self, document: dict[str, object], task_id: UUID, predecessor: FindPredecessor) -> Examined:
        """The request in a JSON object. Objects without a name get theirs from `task_id`, in the timeline alone.

        Raises:
            Rejected: with the faults of its members, its source and its kubeconfig together.
            ProblemError: its predecessor cannot be redeployed.
            NotFound: it has no such predecessor.
            Unavailable: the catalogue cannot be read.
        """
        request, findings = validated(CreateTask, document, tagged=("source",), scalars=("inputs",))
        findings += _unprintable(request)
        before = None
        if request is not None and request.predecessor_task_id is not None and not findings:
            before = await predecessor(request.predecessor_task_id)
        kind = _kind(document, before)
        if kind == "noop" and request is not None:
            return self._noop(request, before, findings)
        if kind is None and document.get("predecessorTaskId") is None:
            findings.append(finding("/source", "a source is required; or name a predecessorTaskId", "required"))
        if kind == "template":
            access = access_of(document, findings, "deploy a template")
            if request is None or access is None or findings:
                raise Rejected(findings)
            return await self._templates.examine(request, access, before)
        size = len(_text(document, "source", "manifests")) + len(_text(document, "kubeconfig"))
        if before is not None and request is not None and request.source is None:
            size += len(before.row.source)
        return await self._in_time(size, lambda: self._manifested(document, request, before, findings, task_id))

    async def _in_time(self, size: int, work: Callable[[], T]) -> T:
        if size <= _LARGE:
            return work()
        async with self._threads:
            return await asyncio.to_thread(work)

    def _manifested(
        self,
        document: dict[str, object],
        request: CreateTask | None,
        before: Before | None,
        findings: list[Finding],
        task_id: UUID,
    ) -> Examined:
        manifests = self._manifests.parsed(document, findings)
        access = access_of(document, findings, "deploy manifests")
        if request is None or access is None or findings:
            raise Rejected(findings)
        if request.source is None and before is not None:
            return self._manifests.inherited(request, access, before, task_id)
        return self._manifests.given(request, manifests, access, before, task_id)

    def _noop(self, request: CreateTask, before: Before | None, findings: list[Finding]) -> Examined:
        if not self._noop_runner:
            findings.append(finding("/source/kind", "the noop runner is off here; use `manifests`", "noop-is-off"))
        if request.inputs:
            findings.append(finding("/inputs", "this source takes no inputs; remove them", "no-inputs"))
        if findings:
            raise Rejected(findings)
        place = target_of(request, None, before)
        title = request.display_name or (before.row.display_name if before else "noop")
        redeploys = None
        if before is not None:
            alike = before.kind == "noop" and place == before.place
            redeploys = Redeploys(before.row.id, edited=request.source is not None, inherits=alike)
        return Examined(
            runner=RunnerKind.NOOP,
            place=place,
            display_name=title,
            source=_NOOP_SOURCE,
            timeline=_NOOP_TIMELINE,
            timeline_text=_NOOP_TEXT,
            compared=compact([_NOOP_SOURCE, place.project, place.namespace, title]),
            facts={"documents": 0},
            words="0 documents",
            redeploys=redeploys,
        )


def _kind(document: dict[str, object], before: Before | None) -> str | None:
    """The kind of the source: of the one that is given, whether or not it can be read, or of the predecessor's."""
    if document.get("source") is not None:
        return as_text(as_object(document["source"]).get("kind")) or "manifests"
    return None if before is None else before.kind


def _unprintable(request: CreateTask | None) -> list[Finding]:
    name = (request.display_name if request else None) or ""
    if name.isprintable():
        return []
    return [finding("/displayName", "use printable characters, on one line", "control-character")]


def _text(document: dict[str, object], *path: str) -> str:
    value: object = document
    for step in path:
        value = as_object(value).get(step)
    return value if isinstance(value, str) else ""
