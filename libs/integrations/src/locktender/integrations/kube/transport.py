"""One HTTP connection pool to one cluster: bounded answers, deadlines on everything, no ambient settings."""

import asyncio
import ssl
from collections.abc import AsyncGenerator, AsyncIterator, Generator, Mapping
from contextlib import aclosing, asynccontextmanager, contextmanager
from http import HTTPStatus

import httpx

from locktender.integrations.kube.access import ClusterAccess
from locktender.integrations.kube.closing import to_the_end
from locktender.integrations.kube.errors import KubeUnavailable, Outage
from locktender.integrations.kube.network import ClusterTransport
from locktender.integrations.kube.outages import broken_off, not_connected, timed_out
from locktender.integrations.kube.status import Answer
from locktender.integrations.kube.tls import client_tls

# A read timeout alone never ends an answer that arrives byte by byte.
_WHOLE_ANSWER_FACTOR = 2
_CALLS = httpx.Limits(max_connections=16, max_keepalive_connections=16)
# Streams last for minutes. In a pool of their own they keep no call waiting; whoever opens them bounds their number.
_STREAMS = httpx.Limits(max_connections=None, max_keepalive_connections=0)


class Wire:
    """Requests to one cluster. Use as a context manager's resource: `aclose` when done.

    Every failure to get a whole answer is a `KubeUnavailable`; any complete answer, good or bad, is returned.
    """

    def __init__(
        self,
        access: ClusterAccess,
        *,
        connect_seconds: float,
        read_seconds: float,
        body_limit: int,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        self._body_limit = body_limit
        self._timeout = httpx.Timeout(read_seconds, connect=connect_seconds, pool=connect_seconds)
        self._whole_seconds = connect_seconds + _WHOLE_ANSWER_FACTOR * read_seconds
        self._extensions = {"sni_hostname": access.tls_server_name} if access.tls_server_name else {}
        headers = {"Accept": "application/json", "Accept-Encoding": "identity", "User-Agent": "locktender"}
        if access.token is not None:
            headers["Authorization"] = f"Bearer {access.token}"
        verify = _verification(access)

        def pool(limits: httpx.Limits) -> httpx.AsyncClient:
            return httpx.AsyncClient(
                base_url=access.server,
                headers=headers,
                timeout=self._timeout,
                trust_env=False,
                follow_redirects=False,
                transport=transport or ClusterTransport(verify, limits),
            )

        self._calls = pool(_CALLS)
        self._streams = pool(_STREAMS)

    async def aclose(self) -> None:
        """Close every connection, also when the caller is cancelled meanwhile."""
        await to_the_end(self._close())

    async def _close(self) -> None:
        await self._calls.aclose()
        await self._streams.aclose()

    async def call(
        self,
        method: str,
        path: str,
        *,
        params: Mapping[str, str] | None = None,
        content: bytes | None = None,
        content_type: str | None = None,
    ) -> Answer:
        """The whole answer. Raises `KubeUnavailable`."""
        headers = {"Content-Type": content_type} if content_type else {}
        with _outages():
            async with (
                asyncio.timeout(self._whole_seconds),
                self._calls.stream(
                    method, path, params=params, content=content, headers=headers, extensions=self._extensions
                ) as response,
            ):
                body = await self._body(response)
                headers = response.headers
                warnings = tuple(headers.get_list("warning"))
                return Answer(response.status_code, body, headers.get("retry-after"), warnings)

    @asynccontextmanager
    async def lines(
        self, path: str, *, params: Mapping[str, str], seconds: float, silence_seconds: float
    ) -> AsyncGenerator[Answer | AsyncIterator[bytes]]:
        """The lines of a streamed answer, which ends within `seconds`; or the whole answer when it is a refusal.

        Once no byte has come for `silence_seconds`, the connection counts as broken: nobody says that the other side
        is gone when a route is lost.
        """
        timeout = httpx.Timeout(min(seconds, silence_seconds), connect=self._timeout.connect, pool=self._timeout.pool)
        deadline = asyncio.get_running_loop().time() + seconds
        with _outages():
            async with self._streams.stream(
                "GET", path, params=params, timeout=timeout, extensions=self._extensions
            ) as response:
                if response.status_code == HTTPStatus.OK:
                    async with aclosing(self._split(response, deadline)) as lines:
                        yield lines
                else:
                    async with asyncio.timeout(self._whole_seconds):
                        body = await self._body(response)
                    yield Answer(response.status_code, body, response.headers.get("retry-after"))

    async def _body(self, response: httpx.Response) -> bytes:
        body = bytearray()
        async for chunk in response.aiter_bytes():
            body += chunk
            if len(body) > self._body_limit:
                raise _too_large(self._body_limit)
        return bytes(body)

    async def _split(self, response: httpx.Response, deadline: float) -> AsyncGenerator[bytes]:
        pending = bytearray()
        chunks = response.aiter_bytes()
        while True:
            # The deadline guards the wait for the server only, not the time the reader takes.
            async with asyncio.timeout_at(deadline):
                chunk = await anext(chunks, None)
            if chunk is None:
                return
            pending += chunk
            *whole, pending = pending.split(b"\n")
            for line in whole:
                if line.strip():
                    yield bytes(line)
            if len(pending) > self._body_limit:
                raise _too_large(self._body_limit)


def _too_large(limit: int) -> KubeUnavailable:
    return KubeUnavailable(f"the cluster's answer is larger than {limit} bytes, which is not read", Outage.BROKEN)


def _verification(access: ClusterAccess) -> ssl.SSLContext | bool:
    if not access.server.startswith("https:"):
        return False
    try:
        return client_tls(access)
    except (ssl.SSLError, ValueError):
        raise KubeUnavailable(
            "the certificates of the kubeconfig cannot be used",
            Outage.TLS,
            hint="check that key and certificate belong together",
        ) from None


@contextmanager
def _outages() -> Generator[None]:
    """Turn every way in which HTTP fails into a `KubeUnavailable` whose words name no secret."""
    try:
        yield
    except (httpx.TimeoutException, TimeoutError):
        raise timed_out() from None
    except httpx.ConnectError as error:
        raise not_connected(error) from None
    except (httpx.TransportError, httpx.StreamError, httpx.InvalidURL, httpx.DecodingError, ssl.SSLError, OSError):
        raise broken_off() from None
