"""What a template came to, as objects to apply: read by the rules for manifests, and refused where something lacks."""

import json
import re
from collections.abc import Collection, Sequence
from dataclasses import replace

from locktender.contracts.kernel.errors import Rejected
from locktender.integrations.kube.json_value import JsonObject
from locktender.integrations.kube.limits import ManifestLimits
from locktender.integrations.kube.manifests import Manifest, parse_manifests
from locktender.integrations.templates.faults import TemplateFault

_OF_TEMPLATES = ("inputs.", "defaults.")
_NAMED = 10
_BY_CHANCE = 8
_LINES_EACH = 2
_AT = re.compile(r"^line ([0-9]+): ")
_FIRST = re.compile(r"\bfirst on line ([0-9]+); keep one$")


def objects_of(
    documents: Sequence[JsonObject],
    missing: Sequence[str],
    *,
    limits: ManifestLimits,
    pointer: str,
    secret: Collection[str] = (),
) -> list[Manifest]:
    """The rendered documents as manifests, at least one. `missing` are the names that nothing was found for.

    No object is named after a `secret` value: names are shown to everybody, and cannot be withheld. Faults name an
    object by its place among those that were rendered, from 1. They may repeat what became part of it.

    Raises:
        TemplateFault: a platform variable is missing, an object is named after a secret value, or there is nothing to
            apply.
        Rejected: an object is none that a cluster takes, or there is too much of it.
    """
    variables = [name for name in missing if not name.startswith(_OF_TEMPLATES)]
    if variables:
        more = f" and {len(variables) - _NAMED} more" if len(variables) > _NAMED else ""
        names = f"{', '.join(variables[:_NAMED])}{more}"
        told = f"it needs platform variables that are not set here: {names}; ask the operator to set them"
        raise TemplateFault("missing-variable", f"nothing was applied: {told}")
    if not documents:
        raise TemplateFault("nothing-rendered", "the template came to no objects at all, so there is nothing to apply")
    # JSON is read by the same rules as YAML, and far quicker; escapes carry every character through.
    text = "".join(f"---\n{json.dumps(document)}\n" for document in documents)
    try:
        manifests = parse_manifests(text, limits=limits, pointer=pointer)
    except Rejected as refusal:
        findings = [replace(each, message=_by_object(each.message)) for each in refusal.findings]
        # Nobody has seen the lines of that text.
        raise Rejected(findings) from None
    for manifest in manifests:
        names = (manifest.ref.name, manifest.ref.namespace, manifest.kind)
        if any(_tells(name, secret) for name in names if name):
            told = f"object {manifest.index + 1} would be named after a secret input, for all to see"
            raise TemplateFault("secret-in-name", f"nothing was applied: {told}; the template has to name it otherwise")
    return manifests


def _tells(name: str, secret: Collection[str]) -> bool:
    """Whether a name gives a value away: it is the value, or holds one that is too long to be there by chance."""
    return any(value == name or (len(value) >= _BY_CHANCE and value in name) for value in secret)


def _by_object(message: str) -> str:
    told = _AT.sub(lambda found: f"object {_place(found[1])}: ", message)
    return _FIRST.sub(lambda found: f"first as object {_place(found[1])}; keep one", told)


def _place(line: str) -> int:
    return max(int(line) // _LINES_EACH, 1)
