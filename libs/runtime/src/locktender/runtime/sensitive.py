"""Which keys hold values that must not be kept."""

from collections.abc import Collection
from dataclasses import dataclass

from locktender.contracts.kernel.sensitive import is_sensitive_name

_KINDS = frozenset({"password", "secret"})


@dataclass(frozen=True, slots=True)
class SensitiveKeys:
    """Decides by declaration first, then by type, then by what the key is called.

    Attributes:
        declared: keys that are sensitive whatever they are called, compared exactly.
    """

    declared: Collection[str] = frozenset()

    def covers(self, key: str, kind: str | None = None) -> bool:
        """Whether the value of `key` (an input of type `kind`) is secret."""
        return key in self.declared or (kind or "").lower() in _KINDS or is_sensitive_name(key)
