"""Names for objects that leave theirs to the cluster.

A cluster draws a new name on every create, so that a retry would leave a second object behind. Here the task and the
place of the document decide the name: every attempt of one task means the same object, another task another one.
"""

import hashlib
from uuid import UUID

from locktender.integrations.kube.json_value import JsonObject, as_object, as_text

_ALPHABET = "bcdfghjklmnpqrstvwxz2456789"
"""What Kubernetes draws from: no vowels and no look-alikes, so that no word comes out."""

SUFFIX_LENGTH = 5
PREFIX_LIMIT = 58
"""Characters of `generateName`: what Kubernetes keeps of it, so that the whole name is still a label."""


def named(body: JsonObject, seed: UUID, index: int) -> JsonObject:
    """`body` with a name.

    One that has `metadata.generateName` and no name comes back as a copy with `metadata.name`, which depends on the
    prefix, `seed` and `index` alone, and without `generateName`. Any other comes back as it is.
    """
    metadata = as_object(body.get("metadata"))
    prefix = generate_name(body)
    if prefix is None:
        return body
    rest = {key: value for key, value in metadata.items() if key not in {"name", "generateName"}}
    return {**body, "metadata": {"name": f"{prefix}{_suffix(seed, index)}", **rest}}


def generate_name(body: JsonObject) -> str | None:
    """The prefix of a name that is still to be made; None for an object that has its name."""
    metadata = as_object(body.get("metadata"))
    if metadata.get("name") not in (None, ""):
        return None
    return as_text(metadata.get("generateName")) or None


def _suffix(seed: UUID, index: int) -> str:
    number = int.from_bytes(hashlib.sha256(seed.bytes + index.to_bytes(8, "big")).digest(), "big")
    letters: list[str] = []
    for _ in range(SUFFIX_LENGTH):
        number, letter = divmod(number, len(_ALPHABET))
        letters.append(_ALPHABET[letter])
    return "".join(letters)
