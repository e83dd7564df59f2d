"""Kinds as a cluster serves them."""

from dataclasses import dataclass
from urllib.parse import quote

from locktender.integrations.kube.json_value import JsonObject, as_array, as_object, as_text


@dataclass(frozen=True, slots=True)
class Resource:
    """Where the objects of a kind live. `plural` is the name in paths and in rights."""

    api_version: str
    kind: str
    plural: str
    namespaced: bool

    def path(self, namespace: str | None = None, name: str | None = None) -> str:
        """The path of one object, or of all. Without a namespace, of all namespaces."""
        parts = [group_path(self.api_version)]
        if self.namespaced and namespace is not None:
            parts += ["namespaces", quote(namespace, safe="")]
        parts.append(quote(self.plural, safe=""))
        if name is not None:
            parts.append(quote(name, safe=""))
        return "/".join(parts)


def group_path(api_version: str) -> str:
    """The path under which a group and version is served."""
    safe = quote(api_version, safe="/")
    return f"/apis/{safe}" if "/" in api_version else f"/api/{safe}"


def served(api_version: str, listing: JsonObject) -> dict[str, Resource]:
    """The kinds of an `APIResourceList`, without subresources."""
    found: dict[str, Resource] = {}
    for item in as_array(listing.get("resources")):
        entry = as_object(item)
        plural, kind = as_text(entry.get("name")), as_text(entry.get("kind"))
        if plural and kind and "/" not in plural:
            found.setdefault(kind, Resource(api_version, kind, plural, entry.get("namespaced") is True))
    return found
