"""A request to deploy, examined: what may be stored, what only memory may hold, and every fault in one answer."""

import asyncio
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from uuid import UUID

from locktender.api.deployments.withholding import divide
from locktender.api.http.faults import validated
from locktender.contracts.deployments.models import (
    ApplyOptions,
    Card,
    CreateTask,
    NoopSource,
    RunnerKind,
    Step,
    Target,
    Timeline,
)
from locktender.contracts.deployments.ordering import apply_order
from locktender.contracts.deployments.readiness import is_required
from locktender.contracts.deployments.wire import ObjectRef
from locktender.contracts.kernel.errors import Finding, Pointer, Rejected
from locktender.integrations.kube.access import ClusterAccess
from locktender.integrations.kube.json_value import as_object, as_text
from locktender.integrations.kube.kubeconfig import read_kubeconfig
from locktender.integrations.kube.limits import ManifestLimits
from locktender.integrations.kube.manifests import Manifest, parse_manifests
from locktender.integrations.kube.naming import named

_LARGE = 8 * 1024
_STEPS = (Step(id="validate-settings", label="Check settings"), Step(id="create-resources", label="Create resources"))
_NOOP_TIMELINE = Timeline(steps=_STEPS)
_NOOP_TEXT = _NOOP_TIMELINE.model_dump_json(by_alias=True)


@dataclass(frozen=True, slots=True)
class Examined:
    """A request that can be accepted.

    Attributes:
        source: JSON text for the row. Secret values in it are placeholders.
        timeline_text: the timeline as JSON text for the row.
        apply: how the objects are applied; None where there is nothing to apply.
        manifests: the objects, secret values included. For memory alone, as is `access`.
        secrets: for custody alone; None where there is nothing to keep.
    """

    runner: RunnerKind
    project: str
    namespace: str | None
    server: str | None
    display_name: str
    source: str
    timeline: Timeline
    timeline_text: str
    apply: ApplyOptions | None = None
    manifests: Sequence[Manifest] = field(default=(), repr=False)
    access: ClusterAccess | None = field(default=None, repr=False)
    secrets: bytes | None = field(default=None, repr=False)


class Examiner:
    """Examines requests. Large ones are read in a thread, two at a time, so that others are answered meanwhile."""

    def __init__(self, *, limits: ManifestLimits, max_secret_bytes: int, noop_runner: bool) -> None:
        self._limits = limits
        self._max_secret_bytes = max_secret_bytes
        self._noop_runner = noop_runner
        self._threads = asyncio.Semaphore(2)

    async def examine(self, document: dict[str, object], task_id: UUID) -> Examined:
        """The request in a JSON object. Objects without a name get theirs from `task_id`, in the timeline alone.

        Raises:
            Rejected: with the faults of its members, its manifests and its kubeconfig together.
        """
        if len(_text(document, "source", "manifests")) + len(_text(document, "kubeconfig")) <= _LARGE:
            return self._examine(document, task_id)
        async with self._threads:
            return await asyncio.to_thread(self._examine, document, task_id)

    def _examine(self, document: dict[str, object], task_id: UUID) -> Examined:
        request, findings = validated(CreateTask, document, tagged=("source",))
        findings += _unprintable(request)
        if request is not None and isinstance(request.source, NoopSource):
            if not self._noop_runner:
                findings.append(_finding("/source/kind", "the noop runner is off here; use `manifests`", "noop-is-off"))
            if findings:
                raise Rejected(findings)
            return _noop(request)
        manifests = self._manifests(document, findings)
        access = self._access(document, findings)
        if request is None or access is None or findings:
            raise Rejected(findings)
        return self._manifested(request, manifests, access, task_id)

    def _manifests(self, document: dict[str, object], findings: list[Finding]) -> list[Manifest]:
        text = as_object(document.get("source")).get("manifests")
        if not isinstance(text, str):
            return []
        try:
            return parse_manifests(text, limits=self._limits)
        except Rejected as refusal:
            findings.extend(refusal.findings)
            return []

    def _access(self, document: dict[str, object], findings: list[Finding]) -> ClusterAccess | None:
        text = document.get("kubeconfig")
        if text is None:
            findings.append(_finding("/kubeconfig", "a kubeconfig is required to deploy manifests", "required"))
        if not isinstance(text, str):
            return None
        try:
            return read_kubeconfig(text)
        except Rejected as refusal:
            findings.extend(refusal.findings)
            return None

    def _manifested(
        self, request: CreateTask, manifests: list[Manifest], access: ClusterAccess, task_id: UUID
    ) -> Examined:
        target, apply = request.target or Target(), request.apply or ApplyOptions()
        divided = divide(manifests, access)
        kubeconfig = request.kubeconfig.get_secret_value() if request.kubeconfig else ""
        secrets = json.dumps({"kubeconfig": kubeconfig, "secrets": divided.kept}, ensure_ascii=False).encode()
        if len(secrets) > self._max_secret_bytes:
            limit = self._max_secret_bytes // 1024
            message = f"the kubeconfig and the objects with secret values exceed {limit} KiB together; deploy in parts"
            raise Rejected([_finding("/source/manifests", message, "secrets-too-large")])
        timeline = Timeline(steps=_STEPS, cards=tuple(_cards(manifests, task_id)))
        source = {
            "kind": "manifests",
            "documents": divided.documents,
            "sensitiveKeys": divided.sensitive_keys,
            "apply": apply.model_dump(mode="json", by_alias=True),
        }
        return Examined(
            runner=RunnerKind.DIRECT,
            project=target.project,
            namespace=target.namespace or access.namespace or "default",
            server=access.server,
            display_name=request.display_name or _title(manifests),
            source=json.dumps(source, ensure_ascii=False, separators=(",", ":")),
            timeline=timeline,
            timeline_text=timeline.model_dump_json(by_alias=True),
            apply=apply,
            manifests=manifests,
            access=access,
            secrets=secrets,
        )


def _noop(request: CreateTask) -> Examined:
    target = request.target or Target()
    return Examined(
        runner=RunnerKind.NOOP,
        project=target.project,
        namespace=target.namespace,
        server=None,
        display_name=request.display_name or "noop",
        source='{"kind": "noop"}',
        timeline=_NOOP_TIMELINE,
        timeline_text=_NOOP_TEXT,
    )


def _cards(manifests: Sequence[Manifest], task_id: UUID) -> list[Card]:
    """One card a document, in the order of applying."""
    ordered = [manifests[place] for place in apply_order(manifests)]
    return [Card(index=each.index, ref=_ref(each, task_id), required=is_required(each.body)) for each in ordered]


def _ref(manifest: Manifest, task_id: UUID) -> ObjectRef:
    name = as_object(named(manifest.body, task_id, manifest.index).get("metadata")).get("name")
    return manifest.ref.model_copy(update={"name": as_text(name)})


def _title(manifests: Sequence[Manifest]) -> str:
    first = manifests[0]
    more = f" and {len(manifests) - 1} more" if len(manifests) > 1 else ""
    return f"{first.kind} {first.ref.name[:120]}{more}"


def _unprintable(request: CreateTask | None) -> list[Finding]:
    name = (request.display_name if request else None) or ""
    if name.isprintable():
        return []
    return [_finding("/displayName", "use printable characters, on one line", "control-character")]


def _text(document: dict[str, object], *path: str) -> str:
    value: object = document
    for step in path:
        value = as_object(value).get(step)
    return value if isinstance(value, str) else ""


def _finding(pointer: str, message: str, code: str) -> Finding:
    return Finding(Pointer(pointer), message, code)
