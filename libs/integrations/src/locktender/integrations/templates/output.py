"""What other programs rendered, read as strictly as manifests are."""

from collections.abc import Collection

from locktender.contracts.kernel.errors import Rejected
from locktender.integrations.kube.documents import read_documents
from locktender.integrations.kube.faults import Findings, TooManyFindings
from locktender.integrations.kube.json_value import JsonObject
from locktender.integrations.kube.limits import ManifestLimits
from locktender.integrations.templates.faults import TemplateFault

MOST_BYTES = 4 * 1_048_576
"""Bytes that a program may write, at most."""


def read_output(data: bytes, program: str, secrets: Collection[str] = ()) -> list[JsonObject]:
    """The documents that `program` wrote. A fault is told without any of `secrets`.

    Raises:
        TemplateFault: one cannot be read, or two readers would disagree on it.
    """
    try:
        text = data.decode()
    except UnicodeDecodeError:
        raise TemplateFault("bad-output", f"what {program} rendered is no UTF-8 text") from None
    limits = ManifestLimits(total_bytes=MOST_BYTES)
    findings = Findings("", limits.findings, text.count("\n") + 1)
    documents: list[JsonObject] = []
    try:
        for tree in read_documents(text, limits, findings):
            if not isinstance(tree.value, dict):
                findings.add("not-a-mapping", "a document must be a mapping", line=tree.line)
                continue
            documents.append(tree.value)
    except TooManyFindings:
        pass
    if findings:
        raise _fault(findings.rejected(), program, secrets)
    return documents


def _fault(rejected: Rejected, program: str, secrets: Collection[str]) -> TemplateFault:
    first = rejected.findings[0]
    told = first.message
    if any(secret and secret in told for secret in secrets):
        told = f"there is a fault of the kind {first.code}"
    return TemplateFault("bad-output", f"what {program} rendered cannot be read: {told}")
