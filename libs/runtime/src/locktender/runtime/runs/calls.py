"""Requests of the run protocol: each with a deadline, tried again within bounds, and answered in our own words."""

import asyncio
import json
import random
from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import cast

import httpx

from locktender.contracts.kernel.backoff import Backoff
from locktender.contracts.kernel.clock import Clock
from locktender.contracts.kernel.errors import Unavailable
from locktender.contracts.kernel.problems import Problem
from locktender.contracts.stacks.wire import LeaseGone
from locktender.runtime.runs.errors import RunRefused

_LATER = frozenset({HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.TOO_EARLY, HTTPStatus.TOO_MANY_REQUESTS})
_LONGEST_DETAIL = 300
_URN = Problem.LEASE_LOST.value.urn.removesuffix(Problem.LEASE_LOST.value.slug)


@dataclass(frozen=True, slots=True)
class Call:
    """One request, which may be sent again.

    Attributes:
        what: what it is about, for messages.
        within: seconds until it is given up, all tries together.
        attempt: seconds for one try.
        ends_lease: it voids the token, so that "the lease is gone" after a try without an answer means that the try
            was taken.
    """

    what: str
    method: str
    path: str
    within: float
    attempt: float
    content: bytes | None = None
    media_type: str = "application/json"
    params: Mapping[str, str | int] | None = None
    ends_lease: bool = False


class Calls:
    """Sends requests with one bearer token."""

    def __init__(self, http: httpx.AsyncClient, token: str, *, clock: Clock, retry: Backoff) -> None:
        self._http = http
        self._authorization = f"Bearer {token}"
        self._clock = clock
        self._retry = retry

    async def send(self, call: Call) -> httpx.Response:
        """The first answer that is one.

        Raises:
            LeaseGone: the token is not, or no longer, valid.
            RunRefused: the API does not take the request.
            Unavailable: there was no answer within the bounds.
        """
        started = self._clock.monotonic()
        attempt, doubtful = 0, False
        while True:
            attempt += 1
            left = started + call.within - self._clock.monotonic()
            answer, why = await self._try(call, min(call.attempt, max(left, 0.05)))
            if answer is not None and not _is_later(answer):
                if _is_gone(answer) and not (call.ends_lease and doubtful):
                    raise LeaseGone
                if not answer.is_success and not _is_gone(answer):
                    raise _refusal(call.what, answer)
                return answer
            doubtful = True
            pause = self._retry.delay(attempt, random.random())  # noqa: S311 - spreads load
            if self._clock.monotonic() + pause >= started + call.within:
                raise Unavailable(f"the API does not answer about {call.what} ({why})")
            await self._clock.sleep(pause)

    async def _try(self, call: Call, seconds: float) -> tuple[httpx.Response | None, str]:
        headers = {"Authorization": self._authorization}
        if call.content is not None:
            headers["Content-Type"] = call.media_type
        try:
            async with asyncio.timeout(seconds):
                answer = await self._http.request(
                    call.method, call.path, content=call.content, params=call.params, headers=headers
                )
        except TimeoutError:
            return None, f"no answer within {seconds:.1f} s"
        except (httpx.TransportError, httpx.DecodingError) as error:
            return None, type(error).__name__
        return answer, f"status {answer.status_code}"


def _is_later(answer: httpx.Response) -> bool:
    return answer.is_server_error or answer.status_code in _LATER


def _is_gone(answer: httpx.Response) -> bool:
    if answer.status_code == HTTPStatus.UNAUTHORIZED:
        return True
    return answer.status_code == HTTPStatus.CONFLICT and _problem(answer)[0] == Problem.LEASE_LOST.value.slug


def _refusal(what: str, answer: httpx.Response) -> RunRefused:
    slug, detail = _problem(answer)
    return RunRefused(what, answer.status_code, slug, detail or f"it answers with status {answer.status_code}")


def _problem(answer: httpx.Response) -> tuple[str, str]:
    """The slug and the detail of a problem document; empty when the answer is none."""
    try:
        document = cast("object", json.loads(answer.content))
    except (ValueError, RecursionError):
        return "", ""
    if not isinstance(document, dict):
        return "", ""
    members = cast("dict[str, object]", document)
    kind, detail = str(members.get("type", "")), str(members.get("detail", ""))
    return kind.removeprefix(_URN) if kind.startswith(_URN) else "", detail[:_LONGEST_DETAIL]
