"""The API as commands use it: requests with a deadline, problems as errors, streams that come back."""

import asyncio
import json
import re
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any
from urllib.parse import quote

import httpx

from locktender.cli.connection import Connection
from locktender.cli.exits import CommandError, Exit, exit_for
from locktender.contracts.kernel.problems import Problem

Json = dict[str, Any]

_TIMEOUT = httpx.Timeout(30.0, connect=5.0)
_PREVIEW_TIMEOUT = httpx.Timeout(90.0, connect=5.0)
_STREAM_TIMEOUT = httpx.Timeout(30.0, connect=5.0, read=25.0)
_RECONNECTS = 60


@dataclass(frozen=True, slots=True)
class ServerEvent:
    """One event of a stream."""

    name: str
    data: Json
    id: str | None


class ApiClient:
    """One API with one token, for one workspace."""

    def __init__(self, http: httpx.AsyncClient, workspace: str) -> None:
        self._http = http
        self._tasks = f"/v1/workspaces/{_part(workspace)}/deployment-tasks"
        self._templates = f"/v1/workspaces/{_part(workspace)}/templates"

    async def create(self, body: Json, *, idempotency_key: str | None = None) -> Json:
        """Ask for a deployment; the snapshot of the new task, or of the one that the key already made."""
        headers = {"Locktender-Client": "cli"}
        if idempotency_key is not None:
            if not re.fullmatch(r"[ -~]+", idempotency_key):
                raise CommandError(Exit.USAGE, "an idempotency key has no other characters than printable ASCII")
            headers["Idempotency-Key"] = idempotency_key
        return await self._ask("POST", self._tasks, json=body, headers=headers)

    async def preview(self, body: Json) -> Json:
        """What a create with the same body would do."""
        return await self._ask("POST", f"{self._tasks}:preview", json=body, timeout=_PREVIEW_TIMEOUT)

    async def plan(self, task_id: str) -> Json:
        """What the latest run of a task was going to do."""
        return await self._ask("GET", f"{self._tasks}/{_part(task_id)}/plan")

    async def page(self, parameters: Mapping[str, str | list[str]]) -> Json:
        """One page of tasks."""
        return await self._ask("GET", self._tasks, params=dict(parameters))

    async def snapshot(self, task_id: str) -> Json:
        """Everything about one task."""
        return await self._ask("GET", f"{self._tasks}/{_part(task_id)}")

    async def cancel(self, task_id: str) -> Json:
        """Ask a task to stop; its snapshot."""
        return await self._ask("POST", f"{self._tasks}/{_part(task_id)}/cancel")

    async def submit(self, task_id: str, body: Json) -> Json:
        """Answer what a blocked task asks; its snapshot."""
        return await self._ask("POST", f"{self._tasks}/{_part(task_id)}/input", json=body)

    async def redeployable(self, task_id: str) -> Json:
        """Whether a task can be redeployed, what to know before, and what would be asked."""
        return await self._ask("GET", f"{self._tasks}/{_part(task_id)}/redeploy")

    async def source(self, task_id: str) -> Json:
        """What a task deploys, as it is stored: without secrets."""
        return await self._ask("GET", f"{self._tasks}/{_part(task_id)}/source")

    async def templates(self, search: str | None) -> Json:
        """The templates of the catalogue."""
        return await self._ask("GET", self._templates, params={"search": search} if search else {})

    async def template(self, name: str) -> Json:
        """One template, and what it asks for."""
        return await self._ask("GET", f"{self._templates}/{_part(name)}")

    async def render(self, name: str, body: Json) -> Json:
        """What one template would come to, without secrets."""
        return await self._ask("POST", f"{self._templates}/{_part(name)}:render", json=body)

    async def events(self, task_id: str, after: int) -> Json:
        """Events above a revision."""
        return await self._ask("GET", f"{self._tasks}/{_part(task_id)}/events", params={"after": str(after)})

    async def watch(self, task_id: str) -> AsyncGenerator[Json]:
        """Snapshots of a task as it changes, the last one terminal. Broken streams are taken up again.

        Raises:
            CommandError: the task is unknown, or the API stayed away.
        """
        last: str | None = None
        for _ in range(_RECONNECTS):
            try:
                async with aclosing(self._stream(f"{self._tasks}/{_part(task_id)}/timeline/stream", last)) as events:
                    async for event in events:
                        last = event.id or last
                        if event.name in {"snapshot", "update"}:
                            yield event.data
                        if event.name in {"end", "removed"}:
                            return
            except httpx.TransportError:
                await asyncio.sleep(0.5)
        raise CommandError(Exit.UNAVAILABLE, "the stream broke again and again", "Is the API still running?")

    async def _stream(self, path: str, last: str | None) -> AsyncGenerator[ServerEvent]:
        headers = {"Accept": "text/event-stream"} | ({"Last-Event-ID": last} if last else {})
        async with self._http.stream("GET", path, headers=headers, timeout=_STREAM_TIMEOUT) as response:
            if not response.is_success:
                await response.aread()
                raise _refusal(response)
            fields: dict[str, str] = {}
            async for line in response.aiter_lines():
                if line.startswith(":"):
                    continue
                if line:
                    name, _, value = line.partition(":")
                    fields[name] = fields[name] + "\n" + value.lstrip(" ") if name in fields else value.lstrip(" ")
                elif "data" in fields or "event" in fields:
                    data = json.loads(fields.get("data") or "{}")
                    yield ServerEvent(fields.get("event", "message"), data, fields.get("id"))
                    fields = {}

    async def _ask(self, method: str, path: str, **options: Any) -> Json:
        try:
            response = await self._http.request(method, path, **options)
        except httpx.TransportError as error:
            raise CommandError(
                Exit.UNAVAILABLE,
                f"{str(self._http.base_url).rstrip('/')} does not answer ({type(error).__name__})",
                "Is it running? `locktender up` starts a local one.",
            ) from error
        if not response.is_success:
            raise _refusal(response)
        return response.json()


def http_client(connection: Connection) -> httpx.AsyncClient:
    """What speaks to that API; to be closed."""
    headers = {"Authorization": f"Bearer {connection.token}"}
    return httpx.AsyncClient(base_url=connection.url, headers=headers, timeout=_TIMEOUT, trust_env=False)


@asynccontextmanager
async def open_client(connection: Connection, workspace: str) -> AsyncGenerator[ApiClient]:
    """A client for as long as the block lasts."""
    async with http_client(connection) as http:
        yield ApiClient(http, workspace)


def _part(name: str) -> str:
    """A name as one segment of a path, whatever it holds."""
    return quote(name, safe="")


def _refusal(response: httpx.Response) -> CommandError:
    try:
        problem: Json = response.json()
    except ValueError:
        problem = {}
    told = str(problem.get("detail") or problem.get("title") or f"HTTP {response.status_code}")
    errors: list[Json] = problem.get("errors") or []
    lines = [f"{fault['pointer']}: {fault['message']}" for fault in errors[:20] if fault.get("pointer")]
    # What is wrong, where it is one thing, is the detail already.
    alone = len(errors) == 1 and errors[0]["message"] == told
    text = (lines or [told])[0] if alone else "\n  ".join([told, *lines])
    return CommandError(exit_for(response.status_code), text, _hint(response, problem))


def _hint(response: httpx.Response, problem: Json) -> str | None:
    """Where to go on, when somebody else was faster or nothing is there."""
    snapshot: Json = problem.get("snapshot") or {}
    task: Json = snapshot.get("task") or {}
    if problem.get("type") == Problem.ALREADY_REDEPLOYED.value.urn and "id" in task:
        return f"Watch it: locktender deployments watch {task['id']}"
    if response.status_code == HTTPStatus.NOT_FOUND:
        what = "templates" if b"/templates/" in response.request.url.raw_path else "deployments"
        return f"See what there is with: locktender {what} list (-w for another workspace)"
    return None
