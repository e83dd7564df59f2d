"""Manifests: text to objects, read once and as kubectl reads it.

What comes out is what is stored, shown and applied; the text is never read a second time.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass

from locktender.contracts.deployments.wire import ObjectRef
from locktender.integrations.kube.documents import read_documents, too_many
from locktender.integrations.kube.faults import Findings, TooManyFindings, shown
from locktender.integrations.kube.json_value import JsonObject
from locktender.integrations.kube.limits import ManifestLimits
from locktender.integrations.kube.naming import generate_name
from locktender.integrations.kube.shape import object_faults
from locktender.integrations.kube.tree import Tree

_MARK = "\ufeff"
_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff\ufeff\ufffe\uffff]|\r(?!\n)")
_SURROGATES = ("\ud800", "\udfff")


@dataclass(frozen=True, slots=True)
class Manifest:
    """One object to apply.

    Attributes:
        index: place in the stream, from 0, after lists are taken apart.
        name: as written; empty when `generate_name` stands for it.
        namespace: as written; None when the manifest leaves it to the target.
        generate_name: the prefix from which `naming.named` makes the name; None for an object that has one.
        body: plain JSON values; numbers as kubectl would send them.
        line: the line of the text on which the object begins, from 1.
    """

    index: int
    api_version: str
    kind: str
    name: str
    namespace: str | None
    body: JsonObject
    line: int
    generate_name: str | None = None

    @property
    def ref(self) -> ObjectRef:
        """The object that this manifest describes; `prefix*` stands for a name that is still to be made."""
        name = self.name or f"{self.generate_name}*"
        return ObjectRef(api_version=self.api_version, kind=self.kind, namespace=self.namespace, name=name)


@dataclass(frozen=True, slots=True)
class _Found:
    body: JsonObject
    line: int
    tree: Tree


def parse_manifests(
    text: str, *, limits: ManifestLimits | None = None, pointer: str = "/source/manifests"
) -> list[Manifest]:
    """Every object of `text`, in order; at least one.

    Documents are separated by `---` lines, and each is YAML or JSON. Nothing is guessed: what YAML readers disagree
    on, duplicate keys, and anything beyond `limits` is refused.

    Raises:
        Rejected: with a finding, and its line, for every fault that could be found in one reading.
    """
    limits = limits or ManifestLimits()
    findings = Findings(pointer, limits.findings, text.count("\n") + 1)
    manifests: list[Manifest] = []
    try:
        if _readable(text, limits, findings):
            manifests = _checked(_objects(text, limits, findings), limits, findings)
            if not manifests and not findings:
                findings.add("no-objects", "there is no object in the manifests; add at least one document")
    except TooManyFindings:
        pass
    if findings:
        raise findings.rejected()
    return manifests


def _readable(text: str, limits: ManifestLimits, findings: Findings) -> bool:
    size = len(text.encode("utf-8", "surrogatepass"))
    if size > limits.total_bytes:
        findings.add(
            "too-large",
            f"the manifests have {size} bytes, more than the limit of {limits.total_bytes} (manifests.total_bytes); "
            "send fewer at once",
        )
        return False
    for match in _CONTROL.finditer(text, text.startswith(_MARK)):
        findings.add(*_control_fault(match.group()), line=text.count("\n", 0, match.start()) + 1)
    return not findings


def _control_fault(character: str) -> tuple[str, str]:
    if character == "\0":
        return "nul-byte", "the text holds a NUL character, which cannot be stored; remove it"
    if _SURROGATES[0] <= character <= _SURROGATES[1]:
        return "lone-surrogate", "the text holds half of a surrogate pair; write the whole character"
    if character == _MARK:
        return "byte-order-mark", "the text holds an invisible byte order mark (U+FEFF) amid other text; remove it"
    if character == "\r":
        return "carriage-return", "a line ends in a carriage return alone; save the text with LF or CRLF line ends"
    return (
        "control-character",
        f"the text holds the control character U+{ord(character):04X}; remove it, or escape it in double quotes",
    )


def _objects(text: str, limits: ManifestLimits, findings: Findings) -> Iterator[_Found]:
    for tree in read_documents(text, limits, findings):
        body = tree.value
        if not isinstance(body, dict):
            message = "a document must be a mapping with apiVersion, kind and metadata"
            findings.add("not-a-mapping", message, line=tree.line)
        elif "items" in body:
            yield from _items(body, tree, findings)
        else:
            yield _Found(body, tree.line, tree)


def _items(body: JsonObject, tree: Tree, findings: Findings) -> Iterator[_Found]:
    """The items of a list. kubectl takes any object with `items` for one, and takes it apart once."""
    kind, items = body.get("kind"), body["items"]
    if not (isinstance(kind, str) and kind.endswith("List") and isinstance(items, list)):
        message = "only a List has items at its top, and they are a list of objects; remove them or fix the kind"
        findings.add("misplaced-items", f"{_title(body)}{message}", line=tree.line_of(body, ["items"], tree.line))
        return
    for index, item in enumerate(items):
        line = tree.line_of(body, ["items", index], tree.line)
        if not isinstance(item, dict):
            message = f"items[{index}] must be a mapping with apiVersion, kind and metadata"
            findings.add("not-a-mapping", message, line=line)
        elif "items" in item:
            findings.add(
                "nested-list", f"items[{index}] has items itself; lists do not nest, so lift them up", line=line
            )
        else:
            yield _Found(item, line, tree)


def _checked(objects: Iterator[_Found], limits: ManifestLimits, findings: Findings) -> list[Manifest]:
    manifests: list[Manifest] = []
    firsts: dict[tuple[str, str, str | None, str], Manifest] = {}
    for found in objects:
        if len(manifests) >= limits.documents:
            findings.add(*too_many(limits), line=found.line)
            break
        before = len(findings)
        _check(found, limits, findings)
        if len(findings) > before:
            continue
        manifest = _manifest(len(manifests), found)
        manifests.append(manifest)
        if manifest.generate_name is not None:
            continue
        group = manifest.api_version.rpartition("/")[0]
        first = firsts.setdefault((group, manifest.kind, manifest.namespace, manifest.name), manifest)
        if first is not manifest:
            message = f"{manifest.ref} is described twice, first on line {first.line}; keep one"
            findings.add("duplicate-object", message, line=found.line)
    return manifests


def _check(found: _Found, limits: ManifestLimits, findings: Findings) -> None:
    body = found.body
    for fault in object_faults(body):
        line = found.tree.line_of(body, fault.path, found.line)
        findings.add(fault.code, f"{_title(body)}{fault.message}", line=line)
    size = len(json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass"))
    if size > limits.object_bytes:
        limit = f"the limit of {limits.object_bytes} (manifests.object_bytes)"
        message = f"{_title(body)}the object has {size} bytes, more than {limit}"
        findings.add("object-too-large", message, line=found.line)


def _title(body: JsonObject) -> str:
    kind, metadata = body.get("kind"), body.get("metadata")
    name = metadata.get("name") if isinstance(metadata, dict) else None
    words = [shown(word) for word in (kind, name) if isinstance(word, str) and word]
    return f"{' '.join(words)}: " if words else ""


def _manifest(index: int, found: _Found) -> Manifest:
    body = found.body
    metadata = body["metadata"]
    if not isinstance(metadata, dict):  # pragma: no cover - object_faults has refused it
        raise TypeError
    namespace, prefix = metadata.get("namespace"), generate_name(body)
    return Manifest(
        index=index,
        api_version=str(body["apiVersion"]),
        kind=str(body["kind"]),
        name="" if prefix is not None else str(metadata["name"]),
        namespace=namespace if isinstance(namespace, str) else None,
        body=body,
        line=found.line,
        generate_name=prefix,
    )
