"""An HTTP answer of a cluster, the request that it answers, and the parts of a `Status` object."""

import json
from dataclasses import dataclass
from typing import cast

from locktender.integrations.kube.faults import shown
from locktender.integrations.kube.json_value import JsonObject, as_array, as_object, as_text

WORDS = 300
"""Characters of a server's own words that a message repeats at most."""

_CAUSES = 20


@dataclass(frozen=True, slots=True)
class Attempt:
    """What was asked for, in words for people. `secret` hides everything the server said."""

    verb: str
    what: str
    resource: str
    namespace: str | None = None
    secret: bool = False


@dataclass(frozen=True, slots=True)
class Answer:
    """A complete HTTP answer. `warnings` are the `Warning` headers as they came."""

    code: int
    body: bytes
    retry_after: str | None = None
    warnings: tuple[str, ...] = ()

    def json(self) -> JsonObject:
        """The body as an object; empty when it is none."""
        try:
            return as_object(cast("object", json.loads(self.body)))
        except (ValueError, RecursionError):
            return {}

    @property
    def is_page(self) -> bool:
        """Whether the body is a web page, which no API server sends and every proxy does."""
        return self.body[:200].lstrip().lower().startswith((b"<html", b"<!doctype", b"<?xml", b"<head", b"<body"))


@dataclass(frozen=True, slots=True)
class Refused:
    """A refusal of an attempt, taken apart. `said` and `causes` are the server's words: see `quoted`."""

    code: int
    attempt: Attempt
    said: str
    details: JsonObject
    causes: list[JsonObject]
    reason: str

    def told(self) -> str:
        """Everything the server said, to tell refusals apart by and never to repeat."""
        return "\n".join([self.said, *(as_text(cause.get("message")) for cause in self.causes)])

    def quoted(self, said: str | None = None) -> str:
        """The server's words as the end of a message; nothing for a Secret, whose values they may repeat."""
        words = one_line(self.said if said is None else said)
        return "" if self.attempt.secret or not words else f": {words}"


def refused(answer: Answer, attempt: Attempt) -> Refused:
    """The parts of the refusal in `answer`, which may be empty."""
    status = answer.json()
    details = as_object(status.get("details"))
    causes = [as_object(cause) for cause in as_array(details.get("causes"))[:_CAUSES]]
    return Refused(answer.code, attempt, as_text(status.get("message")), details, causes, as_text(status.get("reason")))


def one_line(text: str, limit: int = WORDS) -> str:
    """`text` on one line, shortened; runs of blanks and line breaks become one blank."""
    return shown(" ".join(text.split()), limit)
