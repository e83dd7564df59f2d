"""How much manifest text is read at all. Each refusal names the limit that it met."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ManifestLimits:
    """Bounds on submitted manifests, checked before anything is stored or sent.

    Attributes:
        total_bytes: UTF-8 bytes of the whole text.
        documents: objects after `List` kinds are taken apart, and documents before it.
        object_bytes: UTF-8 bytes of one object as compact JSON, which is what a cluster receives.
        depth: mappings and lists inside one another.
        aliases: `*alias` uses in one document.
        nodes: mappings, lists, scalars and keys of the whole text after aliases are expanded.
        findings: faults reported at once; reading stops after that many.
    """

    total_bytes: int = 1_048_576
    documents: int = 500
    object_bytes: int = 1_000_000
    depth: int = 100
    aliases: int = 1_000
    nodes: int = 200_000
    findings: int = 50
