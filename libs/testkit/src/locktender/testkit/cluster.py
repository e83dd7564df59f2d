"""A sandbox cluster for tests: in the process of the test, or as a process of its own.

async with sandbox_cluster() as cluster:
    ...  # cluster.kubeconfig, cluster.server, cluster.token, cluster.ca_pem
    await cluster.faults({"verb": "patch", "status": 503, "count": 2})
"""

import asyncio
import contextlib
import http.client
import json
import secrets
import ssl
import sys
import tempfile
from collections.abc import AsyncGenerator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from locktender.embedded.cluster.cluster import Cluster
from locktender.embedded.cluster.controllers.pace import Pace
from locktender.embedded.cluster.kubeconfig import kubeconfig
from locktender.embedded.cluster.policies.gate import POD_LIMIT
from locktender.embedded.cluster.server import running_cluster

FAST = 0.05
"""Pace at which a pod is ready within about 0.15 seconds."""

_DEADLINE = 20.0


@dataclass(frozen=True, slots=True)
class WholeAnswer:
    """Status, headers by their lower-case names, and the decoded body."""

    status: int
    headers: dict[str, str]
    body: dict[str, Any]


@dataclass(frozen=True, slots=True)
class SandboxCluster:
    """A cluster that answers, and the levers that tests pull. Levers go over HTTP, as the administrator.

    Attributes:
        state: its state directory; serve from it again to get the same address and token.
        process: the process, where the cluster is one, for tests that kill it.
    """

    server: str
    token: str = field(repr=False)
    ca_pem: str = field(repr=False)
    state: Path
    process: asyncio.subprocess.Process | None = None

    @property
    def kubeconfig(self) -> str:
        """YAML text for the administrator."""
        return kubeconfig(self.server, self.ca_pem.encode(), self.token)

    def kubeconfig_for(self, token: str) -> str:
        """YAML text for the bearer of another token."""
        return kubeconfig(self.server, self.ca_pem.encode(), token)

    async def faults(self, *rules: dict[str, Any], images: dict[str, str] | None = None) -> None:
        """Replace the fault table; without arguments, clear it. Fields of a rule: see `faults.Fault`."""
        await self.request("PUT", "/sandbox/faults", {"rules": rules, "images": images or {}})

    async def fault_table(self) -> dict[str, Any]:
        """The table as it stands, with `hits` and remaining `count` of each rule."""
        _, table = await self.request("GET", "/sandbox/faults")
        return table

    async def ledger(self, *, since: int = 0) -> list[dict[str, Any]]:
        """Every mutating request with a sequence number above `since`, oldest first."""
        _, answer = await self.request("GET", f"/sandbox/ledger?since={since}")
        return answer["entries"]

    async def add_token(
        self,
        user: str,
        *,
        expires_in: float | None = None,
        allowed: bool = True,
        rules: tuple[dict[str, Any], ...] = (),
    ) -> str:
        """Make a token for `user`. Without a matching rule, `allowed` holds; `expires_in` is in seconds."""
        token = secrets.token_urlsafe(24)
        entry: dict[str, Any] = {"token": token, "user": user, "allowed": allowed, "rules": rules}
        if expires_in is not None:
            entry["expiresIn"] = expires_in
        await self.request("POST", "/sandbox/tokens", entry)
        return token

    async def compact(self) -> int:
        """Forget the history of changes, so that older watches expire. Returns the oldest version left."""
        _, answer = await self.request("POST", "/sandbox/compact")
        return answer["oldest"]

    async def reset(self) -> None:
        """Remove all objects, faults and ledger entries."""
        await self.request("POST", "/sandbox/reset")

    async def request(
        self,
        method: str,
        path: str,
        body: object = None,
        *,
        token: str | None = None,
        content_type: str = "application/json",
    ) -> tuple[int, dict[str, Any]]:
        """One raw request: status and decoded answer. A body that is bytes is sent as it is.

        Raises:
            OSError, http.client.HTTPException: the connection failed.
        """
        found = await self.answer(method, path, body, token=token, content_type=content_type)
        return found.status, found.body

    async def answer(
        self,
        method: str,
        path: str,
        body: object = None,
        *,
        token: str | None = None,
        content_type: str = "application/json",
    ) -> WholeAnswer:
        """As `request`, with the headers of the answer."""
        raw = body if isinstance(body, bytes) else None if body is None else json.dumps(body).encode()
        headers = {"authorization": f"Bearer {self.token if token is None else token}", "content-type": content_type}
        return await asyncio.to_thread(self._request, method, path, raw, headers)

    def _request(self, method: str, path: str, raw: bytes | None, headers: dict[str, str]) -> WholeAnswer:
        where = urlsplit(self.server)
        context = ssl.create_default_context(cadata=self.ca_pem)
        connection = http.client.HTTPSConnection(where.hostname or "", where.port, context=context, timeout=_DEADLINE)
        with contextlib.closing(connection):
            connection.request(method, path, raw, headers)
            answer = connection.getresponse()
            text = answer.read()
            body = json.loads(text) if text.startswith(b"{") else {"text": text.decode()}
            return WholeAnswer(answer.status, {name.lower(): value for name, value in answer.getheaders()}, body)


@contextlib.asynccontextmanager
async def sandbox_cluster(
    *,
    state: Path | None = None,
    port: int = 0,
    pace: float = FAST,
    process: bool = False,
    cluster: Cluster | None = None,
    persist: bool = False,
    pods: int = POD_LIMIT,
) -> AsyncGenerator[SandboxCluster, None]:
    """A cluster for as long as the context lasts.

    Args:
        state: directory for keys and token; a new one that is removed afterwards when left out.
        port: 0 for a free port, the same again for the same `state`.
        pace: factor on all delays of the controllers; 1 is the speed of a demonstration.
        process: run it as a process of its own, which survives a blocked event loop.
        cluster: in-process only, a cluster with parts of one's own.
        persist: keep objects in `state`, to go on from there with the next cluster on it.
        pods: how many pods the cluster takes; a `cluster` of one's own has its own number.
    """
    with contextlib.ExitStack() as stack:
        directory = state or Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="sandbox-cluster-")))
        if process:
            options = ("--port", str(port), "--pace", str(pace), "--pods", str(pods))
            async with _as_process(directory, (*options, "--persist") if persist else options) as sandbox:
                yield sandbox
            return
        inside = cluster or Cluster(pods=pods)
        serving = running_cluster(directory, port=port, cluster=inside, pace=Pace(factor=pace), persist=persist)
        async with serving as running:
            yield SandboxCluster(running.server, running.token, running.authority.decode(), directory)


@contextlib.asynccontextmanager
async def _as_process(directory: Path, options: tuple[str, ...]) -> AsyncGenerator[SandboxCluster, None]:
    ready = directory / "ready"
    # A process that was killed leaves its file behind.
    await asyncio.to_thread(ready.unlink, missing_ok=True)
    child = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "locktender.embedded.cluster"),
        *("--state", str(directory), "--ready-file", str(ready), *options),
    )
    try:
        async with asyncio.timeout(_DEADLINE):
            while not await asyncio.to_thread(ready.exists):
                assert child.returncode is None, "the sandbox cluster did not start"
                await asyncio.sleep(0.05)
        server, token, authority = [
            await asyncio.to_thread(file.read_text) for file in (ready, directory / "token", directory / "ca.crt")
        ]
        yield SandboxCluster(server, token, authority, directory, child)
    finally:
        if child.returncode is None:
            child.terminate()
        async with asyncio.timeout(_DEADLINE):
            await child.wait()
