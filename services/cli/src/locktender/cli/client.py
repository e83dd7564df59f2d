"""The API as commands use it: requests with a deadline, problems as errors, streams that come back."""

import asyncio
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing

import httpx

from locktender.cli.channel import Channel, Json, idempotency, part
from locktender.cli.exits import CommandError, Exit

_PREVIEW_TIMEOUT = httpx.Timeout(90.0, connect=5.0)
_RECONNECTS = 60


class ApiClient:
    """One API with one token, for one workspace."""

    def __init__(self, http: httpx.AsyncClient, workspace: str) -> None:
        self._channel = Channel(http)
        self._tasks = f"/v1/workspaces/{part(workspace)}/deployment-tasks"
        self._templates = f"/v1/workspaces/{part(workspace)}/templates"

    async def create(self, body: Json, *, idempotency_key: str | None = None) -> Json:
        """Ask for a deployment; the snapshot of the new task, or of the one that the key already made."""
        headers = {"Locktender-Client": "cli"} | idempotency(idempotency_key)
        return await self._channel.ask("POST", self._tasks, json=body, headers=headers)

    async def preview(self, body: Json) -> Json:
        """What a create with the same body would do."""
        return await self._channel.ask("POST", f"{self._tasks}:preview", json=body, timeout=_PREVIEW_TIMEOUT)

    async def plan(self, task_id: str) -> Json:
        """What the latest run of a task was going to do."""
        return await self._channel.ask("GET", f"{self._tasks}/{part(task_id)}/plan")

    async def page(self, parameters: Mapping[str, str | list[str]]) -> Json:
        """One page of tasks."""
        return await self._channel.ask("GET", self._tasks, params=dict(parameters))

    async def snapshot(self, task_id: str) -> Json:
        """Everything about one task."""
        return await self._channel.ask("GET", f"{self._tasks}/{part(task_id)}")

    async def cancel(self, task_id: str) -> Json:
        """Ask a task to stop; its snapshot."""
        return await self._channel.ask("POST", f"{self._tasks}/{part(task_id)}/cancel")

    async def submit(self, task_id: str, body: Json) -> Json:
        """Answer what a blocked task asks; its snapshot."""
        return await self._channel.ask("POST", f"{self._tasks}/{part(task_id)}/input", json=body)

    async def redeployable(self, task_id: str) -> Json:
        """Whether a task can be redeployed, what to know before, and what would be asked."""
        return await self._channel.ask("GET", f"{self._tasks}/{part(task_id)}/redeploy")

    async def source(self, task_id: str) -> Json:
        """What a task deploys, as it is stored: without secrets."""
        return await self._channel.ask("GET", f"{self._tasks}/{part(task_id)}/source")

    async def templates(self, search: str | None) -> Json:
        """The templates of the catalogue."""
        return await self._channel.ask("GET", self._templates, params={"search": search} if search else {})

    async def template(self, name: str) -> Json:
        """One template, and what it asks for."""
        return await self._channel.ask("GET", f"{self._templates}/{part(name)}")

    async def render(self, name: str, body: Json) -> Json:
        """What one template would come to, without secrets."""
        return await self._channel.ask("POST", f"{self._templates}/{part(name)}:render", json=body)

    async def events(self, task_id: str, after: int) -> Json:
        """Events above a revision."""
        return await self._channel.ask("GET", f"{self._tasks}/{part(task_id)}/events", params={"after": str(after)})

    async def watch(self, task_id: str) -> AsyncGenerator[Json]:
        """Snapshots of a task as it changes, the last one terminal. Broken streams are taken up again.

        Raises:
            CommandError: the task is unknown, or the API stayed away.
        """
        last: str | None = None
        path = f"{self._tasks}/{part(task_id)}/timeline/stream"
        for _ in range(_RECONNECTS):
            try:
                async with aclosing(self._channel.stream(path, last)) as events:
                    async for event in events:
                        last = event.id or last
                        if event.name in {"snapshot", "update"}:
                            yield event.data
                        if event.name in {"end", "removed"}:
                            return
            except httpx.TransportError:
                await asyncio.sleep(0.5)
        raise CommandError(Exit.UNAVAILABLE, "the stream broke again and again", "Is the API still running?")
