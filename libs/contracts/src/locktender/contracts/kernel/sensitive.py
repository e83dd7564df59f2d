"""Which names say that their values must not be kept or shown. Pure, and the only place that decides."""

import re
from functools import lru_cache

_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_CONTAINED = ("secret", "password", "passwd")
_ENDINGS = ("_key", "_token")
_WHOLE = frozenset({"token", "apikey"})


@lru_cache(maxsize=4096)
def is_sensitive_name(name: str) -> bool:
    """Whether the value of `name` is secret by what it is called. `apiKey` and `API-KEY` count as `api_key`."""
    canonical = _CAMEL.sub("_", name).replace("-", "_").replace(".", "_").lower()
    return canonical in _WHOLE or canonical.endswith(_ENDINGS) or any(word in canonical for word in _CONTAINED)
