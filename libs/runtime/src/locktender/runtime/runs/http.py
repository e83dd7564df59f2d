"""The HTTP client of a runner."""

import httpx

_TIMEOUT = httpx.Timeout(60.0, connect=5.0)
_LIMITS = httpx.Limits(max_connections=64, max_keepalive_connections=16)


def run_client(url: str, *, trust_env: bool = False) -> httpx.AsyncClient:
    """A client for the API at `url`, without `/v1`; close it. No redirect is followed: a token would go with it.

    `trust_env`: whether proxies and certificates of the environment count.
    """
    return httpx.AsyncClient(
        base_url=url.rstrip("/"), timeout=_TIMEOUT, limits=_LIMITS, trust_env=trust_env, follow_redirects=False,
        headers={"User-Agent": "locktender-runner"},
    )  # fmt: skip
