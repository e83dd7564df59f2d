"""Manifests in a request, or those of a predecessor: what may be stored, and what only memory may hold."""

from collections.abc import Mapping, Sequence
from uuid import UUID

from locktender.api.deployments.examining.answers import answered, as_input
from locktender.api.deployments.examining.examined import (
    Before,
    Examined,
    Redeploys,
    compact,
    custody_of,
    finding,
    options_of,
    target_of,
)
from locktender.api.deployments.examining.secret_form import needs_source, secret_form, stored_objects
from locktender.api.deployments.examining.withholding import divide, scrubbed, secret_texts
from locktender.contracts.deployments.models import Card, CreateTask, RunnerKind, Step, Timeline
from locktender.contracts.deployments.ordering import apply_order
from locktender.contracts.deployments.readiness import is_required
from locktender.contracts.deployments.wire import ObjectRef
from locktender.contracts.kernel.errors import Finding, Rejected
from locktender.integrations.kube.access import ClusterAccess
from locktender.integrations.kube.json_value import Json, as_object, as_text
from locktender.integrations.kube.limits import ManifestLimits
from locktender.integrations.kube.manifests import Manifest, parse_manifests
from locktender.integrations.kube.naming import named

STEPS = (Step(id="validate-settings", label="Check settings"), Step(id="create-resources", label="Create resources"))
_POINTER = "/source/manifests"


class ManifestExaminer:
    """Examines deployments of manifests."""

    def __init__(self, *, limits: ManifestLimits, max_secret_bytes: int) -> None:
        self._limits = limits
        self._max_secret_bytes = max_secret_bytes

    def parsed(self, document: dict[str, object], findings: list[Finding]) -> list[Manifest]:
        """The objects in a request. Whatever is wrong with them is added to `findings`."""
        text = as_object(document.get("source")).get("manifests")
        if not isinstance(text, str):
            return []
        try:
            return parse_manifests(text, limits=self._limits)
        except Rejected as refusal:
            findings.extend(refusal.findings)
            return []

    def given(
        self,
        request: CreateTask,
        manifests: list[Manifest],
        access: ClusterAccess,
        before: Before | None,
        task_id: UUID,
    ) -> Examined:
        """Objects that came with the request.

        Raises:
            Rejected: there is more secret in them than can be kept, or inputs that nothing asks for.
        """
        if request.inputs:
            raise Rejected([finding("/inputs", "manifests take no inputs; remove them", "no-inputs")])
        divided = divide(manifests, access)
        kubeconfig = request.kubeconfig.get_secret_value() if request.kubeconfig else ""
        secrets = custody_of(kubeconfig, dict[str, Json](divided.kept), {}, self._max_secret_bytes, _POINTER)
        source: dict[str, object] = {"documents": divided.documents, "sensitiveKeys": divided.sensitive_keys}
        title = request.display_name or (before.row.display_name if before else None)
        title = scrubbed(title, secret_texts(manifests, access)) if title else _title(manifests)
        return self._examined(request, source, manifests, access, before, title, secrets, task_id)

    def inherited(self, request: CreateTask, access: ClusterAccess, before: Before, task_id: UUID) -> Examined:
        """The objects of the predecessor as they are stored. The run asks for the values of their Secrets again.

        Raises:
            Rejected: something was withheld that cannot be asked for, or a value that is given cannot be used.
        """
        if needs_source(before.source):
            message = "values of Secrets stood elsewhere in these manifests, and are not stored; send the source anew"
            raise Rejected([finding("/source", message, "source-needed")])
        answers = answered(secret_form(before.source), request.inputs, "/inputs")
        if answers.findings:
            raise Rejected(answers.findings)
        kubeconfig = request.kubeconfig.get_secret_value() if request.kubeconfig else ""
        secrets = custody_of(kubeconfig, {}, answers.values, self._max_secret_bytes, "/inputs")
        source = {name: before.source[name] for name in ("documents", "sensitiveKeys") if name in before.source}
        manifests = stored_objects(before.source)
        title = request.display_name or before.row.display_name
        texts = [*access.secrets(), *map(as_input, request.inputs.values())]
        return self._examined(request, source, manifests, access, before, scrubbed(title, texts), secrets, task_id)

    def _examined(
        self,
        request: CreateTask,
        source: Mapping[str, object],
        manifests: Sequence[Manifest],
        access: ClusterAccess,
        before: Before | None,
        title: str,
        secrets: bytes,
        task_id: UUID,
    ) -> Examined:
        place, apply = target_of(request, access, before), options_of(request, before)
        timeline = Timeline(steps=STEPS, cards=tuple(_cards(manifests, task_id)))
        stored = compact({"kind": "manifests", **source, "apply": apply.model_dump(mode="json", by_alias=True)})
        count = len(manifests)
        redeploys = None
        if before is not None:
            same = place == before.place and before.kind == "manifests"
            redeploys = Redeploys(before.row.id, edited=request.source is not None, inherits=same)
        return Examined(
            runner=RunnerKind.DIRECT,
            place=place,
            display_name=title,
            source=stored,
            timeline=timeline,
            timeline_text=timeline.model_dump_json(by_alias=True),
            compared=compact([stored, place.project, place.namespace, title]),
            facts={"documents": count},
            words="one document" if count == 1 else f"{count} documents",
            redeploys=redeploys,
            apply=apply,
            manifests=manifests,
            access=access,
            secrets=secrets,
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
