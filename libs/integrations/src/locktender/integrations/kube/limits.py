"""How much manifest text is read at all. Each refusal names the limit that it met, and the setting that moves it."""

from dataclasses import dataclass, fields


@dataclass(frozen=True, slots=True)
class ManifestLimits:
    """Bounds on submitted manifests, checked before anything is stored or sent.

    As the block `manifests` of the API's settings, each is set as in `LOCKTENDER_MANIFESTS__DOCUMENTS=2000`.

    Attributes:
        total_bytes: UTF-8 bytes of the whole text. A request carries it as JSON, so that `limits.max_body_bytes` has to
            be larger.
        documents: objects after `List` kinds are taken apart, and documents before it.
        object_bytes: UTF-8 bytes of one object as compact JSON, which is what a cluster receives.
        depth: mappings and lists inside one another.
        aliases: `*alias` uses in one document.
        nodes: mappings, lists, scalars and keys of the whole text after aliases are expanded.
        findings: faults reported at once; reading stops after that many.
    """

    total_bytes: int = 4 * 1024 * 1024
    documents: int = 1_000
    object_bytes: int = 1_000_000
    depth: int = 100
    aliases: int = 1_000
    nodes: int = 500_000
    findings: int = 50

    def __post_init__(self) -> None:
        """A limit below 1 would refuse everything, except for aliases, which may be forbidden."""
        for field in fields(self):
            least = 0 if field.name == "aliases" else 1
            if getattr(self, field.name) < least:
                message = f"{field.name} must be at least {least}"
                raise ValueError(message)
