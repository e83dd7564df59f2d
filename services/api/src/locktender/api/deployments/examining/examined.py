"""A request to deploy that can be accepted, and the parts of it that every kind of source has."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from uuid import UUID

from locktender.contracts.deployments.models import ApplyOptions, CreateTask, RunnerKind, Target, Timeline
from locktender.contracts.kernel.errors import Finding, Pointer, Rejected
from locktender.integrations.kube.access import ClusterAccess
from locktender.integrations.kube.json_value import JsonObject, as_object
from locktender.integrations.kube.kubeconfig import read_kubeconfig
from locktender.integrations.kube.manifests import Manifest
from locktender.integrations.templates.package import Package
from locktender.storage.deployments.reads import SourceRow


@dataclass(frozen=True, slots=True)
class Place:
    """Where a deployment goes."""

    project: str
    namespace: str | None
    server: str | None


@dataclass(frozen=True, slots=True)
class Before:
    """The task that a new one takes the place of, and its stored source as an object."""

    row: SourceRow
    source: JsonObject

    @property
    def place(self) -> Place:
        """Where it went."""
        return Place(self.row.project, self.row.namespace, self.row.server)

    @property
    def kind(self) -> str:
        """The kind of its source."""
        return str(self.source.get("kind", ""))


@dataclass(frozen=True, slots=True)
class Redeploys:
    """How a new task follows its predecessor.

    Attributes:
        edited: it deploys something else than its predecessor.
        inherits: what the predecessor has named is its own from now on.
    """

    predecessor: UUID
    edited: bool
    inherits: bool


@dataclass(frozen=True, slots=True)
class Templated:
    """A template with its values, secret ones included: for memory alone."""

    package: Package
    variables: dict[str, str]
    inputs: dict[str, str] = field(repr=False)
    secrets: tuple[str, ...] = field(repr=False)
    missing: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Examined:
    """A request that can be accepted.

    Attributes:
        source: JSON text for the row. Secret values in it are placeholders, or not there.
        timeline_text: the timeline as JSON text for the row.
        compared: what tells this request from another one with the same idempotency key; nothing secret.
        facts: about the source, for the first event; nothing secret.
        words: the source in words, for the same.
        apply: how the objects are applied; None where there is nothing to apply.
        manifests: the objects, secret values included. For memory alone, as are `access` and `template`.
        secrets: for custody alone; None where there is nothing to keep.
    """

    runner: RunnerKind
    place: Place
    display_name: str
    source: str
    timeline: Timeline
    timeline_text: str
    compared: str
    facts: dict[str, object]
    words: str
    redeploys: Redeploys | None = None
    apply: ApplyOptions | None = None
    manifests: Sequence[Manifest] = field(default=(), repr=False)
    template: Templated | None = field(default=None, repr=False)
    access: ClusterAccess | None = field(default=None, repr=False)
    secrets: bytes | None = field(default=None, repr=False)


def access_of(document: dict[str, object], findings: list[Finding], why: str) -> ClusterAccess | None:
    """The access that the kubeconfig in a request gives. Whatever is wrong with it is added to `findings`."""
    text = document.get("kubeconfig")
    if text is None:
        findings.append(finding("/kubeconfig", f"a kubeconfig is required to {why}", "required"))
    if not isinstance(text, str):
        return None
    try:
        return read_kubeconfig(text)
    except Rejected as refusal:
        findings.extend(refusal.findings)
        return None


def target_of(request: CreateTask, access: ClusterAccess | None, before: Before | None) -> Place:
    """Where a request deploys to: where it says, or where its predecessor went."""
    server = None if access is None else access.server
    default = None if access is None else access.namespace or "default"
    if request.target is None and before is not None:
        return Place(before.row.project, before.row.namespace or default, server)
    target = request.target or Target()
    return Place(target.project, target.namespace or default, server)


def options_of(request: CreateTask, before: Before | None) -> ApplyOptions:
    """How a request applies: as it says, or as its predecessor did."""
    if request.apply is None and before is not None and "apply" in before.source:
        return ApplyOptions.model_validate(as_object(before.source["apply"]))
    return request.apply or ApplyOptions()


def custody_of(request_text: str, secrets: JsonObject, inputs: dict[str, str], most: int, pointer: str) -> bytes:
    """What custody keeps: the kubeconfig, whole bodies by index, and values by key.

    Raises:
        Rejected: it is more than custody takes.
    """
    payload = {"kubeconfig": request_text, "secrets": secrets, "inputs": inputs}
    text = json.dumps(payload, ensure_ascii=False).encode()
    if len(text) > most:
        message = f"the kubeconfig and the secret values exceed {most // 1024} KiB together; deploy in parts"
        raise Rejected([finding(pointer, message, "secrets-too-large")])
    return text


def compact(value: object) -> str:
    """JSON text for a row."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def finding(pointer: str, message: str, code: str) -> Finding:
    """One fault."""
    return Finding(Pointer(pointer), message, code)
