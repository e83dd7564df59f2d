"""One API with one token: requests with a deadline, problems as errors, streams of events."""

import json
import re
from collections.abc import AsyncGenerator
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any
from urllib.parse import quote

import httpx

from locktender.cli.connection import Connection
from locktender.cli.exits import CommandError, Exit, exit_for
from locktender.cli.missing import listing_of, missing
from locktender.contracts.kernel.problems import Problem

Json = dict[str, Any]

_TIMEOUT = httpx.Timeout(30.0, connect=5.0)
_STREAM_TIMEOUT = httpx.Timeout(30.0, connect=5.0, read=25.0)


@dataclass(frozen=True, slots=True)
class ServerEvent:
    """One event of a stream."""

    name: str
    data: Json
    id: str | None


_STACK_HINTS = {
    Problem.STACK_UNCERTAIN.value.urn: "Look at what is really there first: locktender stack refresh NAME",
    Problem.STALE_PLAN.value.urn: "Look at the plan again: locktender stack show NAME NUMBER; or skip it and plan anew",
    Problem.STATE_LOCKED.value.urn: "See who holds the lock with: locktender stack state list NAME",
    Problem.TOKEN_KEPT.value.urn: "Without --keep-old, both end at once. If the last one was lost: --again",
    Problem.NOT_SKIPPABLE.value.urn: "What runs already is stopped with: locktender stack cancel NAME NUMBER",
}


class Channel:
    """Speaks to an API. Every refusal and every silence is a `CommandError`."""

    def __init__(self, http: httpx.AsyncClient) -> None:
        self._http = http

    async def ask(self, method: str, path: str, **options: Any) -> Json:
        """The JSON of an answer; empty where there is none."""
        response = await self.fetch(method, path, **options)
        try:
            return response.json() if response.content else {}
        except ValueError as error:
            hint = "Is the address the one of an API, and not of something before it?"
            raise CommandError(Exit.UNAVAILABLE, "the answer is no JSON", hint) from error

    async def fetch(self, method: str, path: str, **options: Any) -> httpx.Response:
        """An answer that is a success.

        Raises:
            CommandError: the API refuses, or does not answer.
        """
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
        return response

    async def stream(self, path: str, last: str | None) -> AsyncGenerator[ServerEvent]:
        """The events of a stream, from behind the one whose id is `last`, until it ends or breaks.

        Raises:
            CommandError: the API refuses.
            httpx.TransportError: the stream broke; it can be taken up again.
        """
        headers = {"Accept": "text/event-stream"} | ({"Last-Event-ID": last} if last else {})
        async with self._http.stream("GET", path, headers=headers, timeout=_STREAM_TIMEOUT) as response:
            if not response.is_success:
                await response.aread()
                raise _refusal(response)
            fields: dict[str, str] = {}
            async for line in _lines(response):
                if line.startswith(":"):
                    continue
                if line:
                    name, _, value = line.partition(":")
                    fields[name] = fields[name] + "\n" + value.lstrip(" ") if name in fields else value.lstrip(" ")
                elif "data" in fields or "event" in fields:
                    data = json.loads(fields.get("data") or "{}")
                    yield ServerEvent(fields.get("event", "message"), data, fields.get("id"))
                    fields = {}


def http_client(connection: Connection) -> httpx.AsyncClient:
    """What speaks to that API; to be closed."""
    headers = {"Authorization": f"Bearer {connection.token}"}
    return httpx.AsyncClient(base_url=connection.url, headers=headers, timeout=_TIMEOUT, trust_env=False)


def part(name: str) -> str:
    """A name as one segment of a path, whatever it holds.

    Raises:
        CommandError: it holds nothing, and would name something else.
    """
    if not name:
        raise CommandError(Exit.USAGE, "a name or an id is empty")
    return quote(name, safe="")


def idempotency(key: str | None) -> dict[str, str]:
    """The header for a key, if there is one.

    Raises:
        CommandError: it is none that can be sent.
    """
    if key is None:
        return {}
    if not re.fullmatch(r"[ -~]+", key):
        raise CommandError(Exit.USAGE, "an idempotency key has no other characters than printable ASCII")
    return {"Idempotency-Key": key}


async def _lines(response: httpx.Response) -> AsyncGenerator[str]:
    """The lines of a stream. They end at line feeds alone; other separators may be part of what is told."""
    begun = ""
    async for text in response.aiter_text():
        *whole, begun = (begun + text).split("\n")
        for line in whole:
            yield line.removesuffix("\r")


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
    if response.status_code == HTTPStatus.NOT_FOUND:
        text = missing(response.request.url.path) or text
    refused = problem.get("type") == Problem.SOURCE_REFUSED.value.urn
    code = Exit.USAGE if refused else exit_for(response.status_code)
    return CommandError(code, text, _hint(response, problem))


def _hint(response: httpx.Response, problem: Json) -> str | None:
    """Where to go on, when somebody else was faster or nothing is there."""
    snapshot: Json = problem.get("snapshot") or {}
    task: Json = snapshot.get("task") or {}
    if problem.get("type") == Problem.ALREADY_REDEPLOYED.value.urn and "id" in task:
        return f"Watch it: locktender deployments watch {task['id']}"
    if response.status_code == HTTPStatus.NOT_FOUND:
        return f"See what there is with: locktender {listing_of(response.request.url.path)} (-w for another workspace)"
    if response.status_code == HTTPStatus.UNAUTHORIZED:
        return "It is the one of --token, else of LOCKTENDER_TOKEN, else of the local system."
    if problem.get("type") == Problem.NOT_SKIPPABLE.value.urn and snapshot.get("completedAt"):
        return None
    return _STACK_HINTS.get(str(problem.get("type")))
