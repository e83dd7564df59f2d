"""The part of the API that is about stacks, as commands use it."""

import asyncio
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing

import httpx

from locktender.cli.channel import Channel, Json, ServerEvent, idempotency, part
from locktender.cli.exits import CommandError, Exit

_SLOW = httpx.Timeout(120.0, connect=5.0)
"""Making a deployment asks a repository for its commit, and archives and states may be large."""
_RECONNECTS = 60
_PAUSE = 0.5
_PAGES = 4_000

Parameters = Mapping[str, str | list[str]]


class StackClient:
    """The stacks of one workspace. Stacks go by their name, deployments by their number."""

    def __init__(self, channel: Channel, workspace: str) -> None:
        self._channel = channel
        self._workspace = f"/v1/workspaces/{part(workspace)}"
        self._stacks = f"{self._workspace}/stacks"
        self._groups = f"{self._workspace}/runner-groups"

    # -- stacks

    async def create(self, body: Json) -> Json:
        """A new stack."""
        return await self._channel.ask("POST", self._stacks, json=body, timeout=_SLOW)

    async def page(self, parameters: Parameters) -> Json:
        """One page of stacks."""
        return await self._channel.ask("GET", self._stacks, params=dict(parameters))

    async def stack(self, name: str) -> Json:
        """One stack."""
        return await self._channel.ask("GET", self._of(name))

    async def update(self, name: str, body: Json) -> Json:
        """Change it; the stack as it is then."""
        return await self._channel.ask("PATCH", self._of(name), json=body, timeout=_SLOW)

    async def delete(self, name: str) -> None:
        """Forget it. What it made lives on."""
        await self._channel.fetch("DELETE", self._of(name))

    async def put_archive(self, name: str, sha256: str, data: bytes) -> None:
        """Upload a tar.gz that deployments of the stack can name."""
        await self._channel.fetch(
            "PUT",
            f"{self._of(name)}/source-archives/{part(sha256)}",
            content=data,
            headers={"Content-Type": "application/gzip"},
            timeout=_SLOW,
        )

    # -- variables

    async def variables(self, name: str) -> Json:
        """What runs are given, sensitive values withheld."""
        return await self._channel.ask("GET", f"{self._of(name)}/variables")

    async def set_variable(self, name: str, kind: str, variable: str, body: Json) -> Json:
        """Set one."""
        return await self._channel.ask("PUT", f"{self._of(name)}/variables/{part(kind)}/{part(variable)}", json=body)

    async def unset_variable(self, name: str, kind: str, variable: str) -> None:
        """Forget one."""
        await self._channel.fetch("DELETE", f"{self._of(name)}/variables/{part(kind)}/{part(variable)}")

    # -- pools of remote runners

    async def groups(self) -> Json:
        """The pools of the workspace, and the runners of each."""
        return await self._channel.ask("GET", self._groups)

    async def create_group(self, body: Json) -> Json:
        """A new pool, with its token, which is told this once."""
        return await self._channel.ask("POST", self._groups, json=body)

    async def update_group(self, name: str, body: Json) -> Json:
        """Change one; the pool as it is then."""
        return await self._channel.ask("PATCH", f"{self._groups}/{part(name)}", json=body)

    async def rotate_token(self, name: str, body: Json) -> Json:
        """Give one another token: the pool with it, which is told this once."""
        return await self._channel.ask("POST", f"{self._groups}/{part(name)}/rotate-token", json=body)

    async def delete_group(self, name: str) -> None:
        """Forget one. Its token is void then."""
        await self._channel.fetch("DELETE", f"{self._groups}/{part(name)}")

    async def delete_runner(self, group: str, runner: str) -> None:
        """Give up a runner, and with it the run that it has."""
        await self._channel.fetch("DELETE", f"{self._groups}/{part(group)}/runners/{part(runner)}")

    # -- deployments

    async def deploy(self, name: str, body: Json, *, verb: str = "", key: str | None = None) -> Json:
        """A new deployment, or the one that the key already made. `verb` is empty, `:local` or `:run-command`."""
        path, headers = f"{self._of(name)}/deployments{verb}", idempotency(key)
        return await self._channel.ask("POST", path, json=body, headers=headers, timeout=_SLOW)

    async def deployments(self, name: str, parameters: Parameters) -> Json:
        """One page of deployments, newest first."""
        return await self._channel.ask("GET", f"{self._of(name)}/deployments", params=dict(parameters))

    async def deployment(self, name: str, number: int) -> Json:
        """One deployment with its stages and runs."""
        return await self._channel.ask("GET", self._at(name, number))

    async def act(self, name: str, number: int, action: str, body: Json | None = None) -> Json:
        """Do something to a deployment: confirm, replan, skip, cancel, retry, prioritize or deprioritize."""
        path = f"{self._at(name, number)}/{action}"
        return await self._channel.ask("POST", path, timeout=_SLOW, **({} if body is None else {"json": body}))

    async def skip_all(self, name: str) -> Json:
        """Skip all that can be."""
        return await self._channel.ask("POST", f"{self._of(name)}/deployments:skip-all")

    async def activity(self, name: str, number: int) -> Json:
        """Who did what to it."""
        return await self._channel.ask("GET", f"{self._at(name, number)}/activity")

    async def run_part(self, name: str, number: int, run_id: str, section: str) -> Json:
        """A part of what a run found out: plan-changes, state-resources and so on."""
        return await self._channel.ask("GET", f"{self._at(name, number)}/runs/{part(run_id)}/{section}", timeout=_SLOW)

    async def log(self, name: str, number: int, run_id: str) -> str:
        """All that the log of a run holds by now."""
        path, text, end = f"{self._at(name, number)}/runs/{part(run_id)}/log", bytearray(), 0
        for _ in range(_PAGES):
            page = await self._channel.fetch("GET", path, params={"offset": str(len(text))}, timeout=_SLOW)
            text += page.content
            end = int(page.headers.get("Locktender-Log-End", "0"))
            if not page.content or len(text) >= end:
                break
        return text.decode("utf-8", "replace")

    # -- what there is

    async def resources(self, name: str, address: str | None) -> Json:
        """The inventory, or everything about one resource."""
        params = {} if address is None else {"address": address}
        return await self._channel.ask("GET", f"{self._of(name)}/resources", params=params)

    async def outputs(self, name: str) -> Json:
        """The outputs of the root module, sensitive ones withheld."""
        return await self._channel.ask("GET", f"{self._of(name)}/outputs")

    # -- states

    async def versions(self, name: str, parameters: Parameters) -> Json:
        """One page of versions of the state, newest first."""
        return await self._channel.ask("GET", f"{self._of(name)}/state/versions", params=dict(parameters))

    async def pull(self, name: str, version: str | None) -> str:
        """The state as the engine wrote it: the current one, or a version."""
        path = f"{self._of(name)}/state" + ("" if version is None else f"/versions/{part(version)}")
        return (await self._channel.fetch("GET", path, timeout=_SLOW)).text

    async def push(self, name: str, data: bytes) -> Json:
        """Take a state over."""
        headers = {"Content-Type": "application/json"}
        path = f"{self._of(name)}/state"
        return await self._channel.ask("PUT", path, content=data, headers=headers, timeout=_SLOW)

    async def roll_back(self, name: str, version: str) -> Json:
        """Make an old version the current one, as a new version."""
        path = f"{self._of(name)}/state/versions/{part(version)}:rollback"
        return await self._channel.ask("POST", path, timeout=_SLOW)

    async def unlock(self, name: str, lock_id: str) -> Json:
        """Break the lock that was seen; the newest version, and the lock that is left."""
        return await self._channel.ask("POST", f"{self._of(name)}/state:force-unlock", json={"lockId": lock_id})

    # -- the queue

    async def queue(self) -> Json:
        """What waits in the workspace."""
        return await self._channel.ask("GET", f"{self._workspace}/stack-queue")

    async def clear_queue(self) -> Json:
        """Skip all that waits for a runner."""
        return await self._channel.ask("POST", f"{self._workspace}/stack-queue:cancel-pending")

    # -- following

    def watch(self, name: str, number: int) -> AsyncGenerator[Json]:
        """A deployment as it changes, until it has ended. See `_resumed` for what is raised."""
        return self._watch(f"{self._at(name, number)}/stream")

    def log_events(self, name: str, number: int, run_id: str, offset: int) -> AsyncGenerator[ServerEvent]:
        """The log of a run from `offset` on, until the run has ended. See `_resumed` for what is raised."""
        path = f"{self._at(name, number)}/runs/{part(run_id)}/log/stream"
        return self._resumed(path, str(offset) if offset else None)

    async def _watch(self, path: str) -> AsyncGenerator[Json]:
        async with aclosing(self._resumed(path, None)) as events:
            async for event in events:
                if event.name in {"snapshot", "update"}:
                    yield event.data

    async def _resumed(self, path: str, last: str | None) -> AsyncGenerator[ServerEvent]:
        """The events of a stream up to its `end`; a stream that breaks is taken up where it was.

        Raises:
            CommandError: what is followed is not there, or the API stayed away.
        """
        misses = 0
        while misses < _RECONNECTS:
            try:
                async with aclosing(self._channel.stream(path, last)) as events:
                    async for event in events:
                        last, misses = event.id or last, 0
                        yield event
                        if event.name in {"end", "removed"}:
                            return
            except httpx.TransportError:
                pass
            except CommandError as refusal:
                if refusal.code is not Exit.UNAVAILABLE:
                    raise
            misses += 1
            await asyncio.sleep(_PAUSE)
        raise CommandError(Exit.UNAVAILABLE, "the stream broke again and again", "Is the API still running?")

    def _of(self, name: str) -> str:
        return f"{self._stacks}/{part(name)}"

    def _at(self, name: str, number: int) -> str:
        return f"{self._of(name)}/deployments/{number}"
