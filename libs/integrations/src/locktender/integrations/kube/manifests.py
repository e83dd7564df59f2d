"""Manifests: text to objects, read once and as kubectl reads it.

What comes out is what is stored, shown and applied; the text is never read a second time.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass

from locktender.contracts.deployments.models import ObjectRef
from locktender.integrations.kube.events import Malformed, is_json, json_events, yaml_events
from locktender.integrations.kube.faults import Findings, TooManyFindings, shown
from locktender.integrations.kube.json_value import JsonObject
from locktender.integrations.kube.limits import ManifestLimits
from locktender.integrations.kube.shape import object_faults
from locktender.integrations.kube.tree import Builder, Tree

_SEPARATOR = re.compile(r"^---[ \t]*(?:#.*)?\r?$")
_INLINE = re.compile(r"^---[ \t]+\S")
_DIRECTIVE = re.compile(r"^%(?:YAML|TAG)\b")
_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff\ufffe\uffff]")
_SURROGATES = ("\ud800", "\udfff")


@dataclass(frozen=True, slots=True)
class Manifest:
    """One object to apply.

    Attributes:
        index: place in the stream, from 0, after lists are taken apart.
        namespace: as written; None when the manifest leaves it to the target.
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

    @property
    def ref(self) -> ObjectRef:
        """The object that this manifest describes."""
        return ObjectRef(api_version=self.api_version, kind=self.kind, namespace=self.namespace, name=self.name)


@dataclass(frozen=True, slots=True)
class _Found:
    body: JsonObject
    line: int


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
    findings = Findings(pointer, limits.findings)
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
            f"the manifests have {size} bytes, more than the limit of {limits.total_bytes}; send fewer at once",
        )
        return False
    for match in _CONTROL.finditer(text):
        findings.add(*_control_fault(match.group()), line=text.count("\n", 0, match.start()) + 1)
    return not findings


def _control_fault(character: str) -> tuple[str, str]:
    if character == "\0":
        return "nul-byte", "the text holds a NUL character, which cannot be stored; remove it"
    if _SURROGATES[0] <= character <= _SURROGATES[1]:
        return "lone-surrogate", "the text holds half of a surrogate pair; write the whole character"
    return (
        "control-character",
        f"the text holds the control character U+{ord(character):04X}; remove it, or escape it in double quotes",
    )


def _chunks(text: str, findings: Findings) -> Iterator[tuple[int, str]]:
    """Documents with the line on which each begins, cut where kubectl cuts."""
    begin, lines = 1, list[str]()
    for number, line in enumerate(text.removeprefix("\ufeff").split("\n"), start=1):
        if _SEPARATOR.match(line):
            yield begin, "\n".join(lines)
            begin, lines = number + 1, []
        elif _INLINE.match(line):
            findings.add("inline-document", "put the document on the lines after `---`, not beside it", line=number)
            lines.append("")
        elif _DIRECTIVE.match(line):
            findings.add("yaml-directive", "YAML directives are not accepted; remove the line", line=number)
            lines.append("")
        else:
            lines.append(line)
    yield begin, "\n".join(lines)


def _trees(text: str, limits: ManifestLimits, findings: Findings) -> Iterator[Tree]:
    documents, builder = 0, Builder(limits, findings)
    for first_line, chunk in _chunks(text, findings):
        if not chunk.strip():
            continue
        events = json_events(chunk, first_line) if is_json(chunk) else yaml_events(chunk, first_line)
        try:
            for tree in builder.trees(events):
                if tree.value is None:
                    continue
                documents += 1
                if documents > limits.documents:
                    findings.add(*_too_many(limits), line=tree.line)
                    return
                yield tree
        except Malformed as fault:
            findings.add(fault.code, fault.problem, line=fault.line)
            if fault.code == "too-many-values":
                return


def _too_many(limits: ManifestLimits) -> tuple[str, str]:
    return "too-many-documents", f"there are more than {limits.documents} objects; deploy them in parts"


def _objects(text: str, limits: ManifestLimits, findings: Findings) -> Iterator[_Found]:
    for tree in _trees(text, limits, findings):
        if isinstance(tree.value, dict):
            yield from _flattened(tree.value, tree.line, tree, findings)
        else:
            findings.add(
                "not-a-mapping", "a document must be a mapping with apiVersion, kind and metadata", line=tree.line
            )


def _flattened(body: JsonObject, line: int, tree: Tree, findings: Findings) -> Iterator[_Found]:
    """`body`, or the items of a `List` kind. Nesting is bounded by the depth limit."""
    kind, items = body.get("kind"), body.get("items")
    if not (isinstance(kind, str) and kind.endswith("List") and isinstance(items, list)):
        yield _Found(body, line)
        return
    for index, item in enumerate(items):
        at = tree.lines.get(id(item), line)
        if isinstance(item, dict):
            yield from _flattened(item, at, tree, findings)
        else:
            findings.add(
                "not-a-mapping", f"items[{index}] must be a mapping with apiVersion, kind and metadata", line=at
            )


def _checked(objects: Iterator[_Found], limits: ManifestLimits, findings: Findings) -> list[Manifest]:
    manifests: list[Manifest] = []
    firsts: dict[tuple[str, str, str | None, str], Manifest] = {}
    for found in objects:
        if len(manifests) >= limits.documents:
            findings.add(*_too_many(limits), line=found.line)
            break
        before = len(findings)
        for code, message in object_faults(found.body):
            findings.add(code, f"{_title(found.body)}{message}", line=found.line)
        size = len(json.dumps(found.body, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass"))
        if size > limits.object_bytes:
            message = f"the object has {size} bytes, more than the limit of {limits.object_bytes}"
            findings.add("object-too-large", f"{_title(found.body)}{message}", line=found.line)
        if len(findings) > before:
            continue
        manifest = _manifest(len(manifests), found)
        ref = manifest.ref
        first = firsts.setdefault((ref.api_version.rpartition("/")[0], ref.kind, ref.namespace, ref.name), manifest)
        if first is not manifest:
            findings.add(
                "duplicate-object", f"{ref} is described twice, first on line {first.line}; keep one", line=found.line
            )
        manifests.append(manifest)
    return manifests


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
    namespace = metadata.get("namespace")
    return Manifest(
        index=index,
        api_version=str(body["apiVersion"]),
        kind=str(body["kind"]),
        name=str(metadata["name"]),
        namespace=namespace if isinstance(namespace, str) else None,
        body=body,
        line=found.line,
    )
