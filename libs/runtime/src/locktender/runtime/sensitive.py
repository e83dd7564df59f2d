"""Which keys hold values that must not be kept."""

import re
from collections.abc import Collection
from dataclasses import dataclass

_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_CONTAINED = ("secret", "password", "passwd")
_ENDINGS = ("_key", "_token")
_WHOLE = frozenset({"token", "apikey"})
_KINDS = frozenset({"password", "secret"})


@dataclass(frozen=True, slots=True)
class SensitiveKeys:
    """Decides by declaration first, then by type, then by what the key is called.

    Attributes:
        declared: keys that are sensitive whatever they are called, compared exactly.
    """

    declared: Collection[str] = frozenset()

    def covers(self, key: str, kind: str | None = None) -> bool:
        """Whether the value of `key` (an input of type `kind`) is secret. `apiKey` and `API-KEY` count as `api_key`."""
        if key in self.declared or (kind or "").lower() in _KINDS:
            return True
        canonical = _CAMEL.sub("_", key).replace("-", "_").replace(".", "_").lower()
        return canonical in _WHOLE or canonical.endswith(_ENDINGS) or any(word in canonical for word in _CONTAINED)
