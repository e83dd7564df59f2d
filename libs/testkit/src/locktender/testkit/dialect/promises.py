"""What holds for every text that a reader of manifests is given, whoever made it up."""

import json
import re
import time

from locktender.contracts.kernel.errors import Rejected
from locktender.integrations.kube.limits import ManifestLimits
from locktender.integrations.kube.manifests import Manifest, parse_manifests

LIMITS = ManifestLimits(depth=20, nodes=5_000)
_SECONDS = 10.0
_LINE = re.compile(r"line (\d+): ")


def keeps_promises(text: str) -> list[Manifest]:
    """Read `text`, and see that every promise was kept.

    It is refused with findings, or read; nothing else is raised, and neither takes long. A finding has a code, fits on
    one line and names a line of the text. What was read is JSON, and reads back as itself.

    Returns:
        The objects; none for a text that was refused.
    """
    began = time.process_time()
    try:
        manifests = parse_manifests(text, limits=LIMITS)
    except Rejected as refusal:
        manifests = []
        _proper(refusal, lines=text.count("\n") + 1)
    assert time.process_time() - began < _SECONDS
    if manifests:
        bodies = [manifest.body for manifest in manifests]
        again = parse_manifests(json.dumps({"apiVersion": "v1", "kind": "List", "items": bodies}))
        assert [manifest.body for manifest in again] == bodies
        assert [manifest.ref for manifest in again] == [manifest.ref for manifest in manifests]
        assert all(1 <= manifest.line <= text.count("\n") + 1 for manifest in manifests)
    return manifests


def _proper(refusal: Rejected, lines: int) -> None:
    assert refusal.findings
    for finding in refusal.findings:
        assert finding.code
        assert finding.message.isprintable(), finding.message
        line = _LINE.match(finding.message)
        assert finding.code in {"no-objects", "too-large"} or line, finding.message
        assert line is None or 1 <= int(line.group(1)) <= lines, finding.message
