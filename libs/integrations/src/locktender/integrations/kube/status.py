"""From an HTTP answer that is not a success to a typed refusal."""

import json
import re
from dataclasses import dataclass
from typing import cast

from locktender.integrations.kube.errors import (
    ConflictCause,
    InvalidCause,
    KubeConflict,
    KubeDenied,
    KubeError,
    KubeInvalid,
    KubeNotFound,
    KubeQuotaExceeded,
    KubeTerminating,
    KubeUnauthorized,
    KubeUnavailable,
    Outage,
    WatchExpired,
)
from locktender.integrations.kube.faults import shown
from locktender.integrations.kube.json_value import JsonObject, as_array, as_object, as_text

_MANAGER = re.compile(r'conflict with "([^"]{1,200})"')
_WORDS = 300
_RETRY_CEILING = 300.0
# A structural mistake in an applied object comes back as an internal error of the server.
_APPLY_MISTAKES = (
    "failed to create typed patch object",
    "field not declared in schema",
    "failed to convert new object",
)


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
    """A complete HTTP answer."""

    code: int
    body: bytes
    retry_after: str | None = None

    def json(self) -> JsonObject:
        """The body as an object; empty when it is none."""
        try:
            return as_object(cast("object", json.loads(self.body)))
        except (ValueError, RecursionError):
            return {}


def refusal(answer: Answer, attempt: Attempt) -> KubeError:  # noqa: PLR0911 - one return a class of answer
    """The error that `answer` amounts to."""
    status = answer.json()
    said = as_text(status.get("message"))
    match answer.code:
        case 401:
            return KubeUnauthorized("the cluster does not accept the credentials; the token is wrong or has expired")
        case 403:
            return _denied(status, said, attempt)
        case 404:
            return _missing(status, attempt)
        case 409:
            return _conflict(status, said, attempt)
        case 410:
            return WatchExpired(f"the cluster no longer has the changes of {attempt.what} that were asked for")
        case 408 | 429:
            return _unavailable(answer, status, Outage.OVERLOADED, "is busy")
        case code if code >= 500 and not any(mistake in said for mistake in _APPLY_MISTAKES):  # noqa: PLR2004 - HTTP
            return _unavailable(answer, status, Outage.SERVER_ERROR, f"answered with an internal error ({code})")
        case code if 300 <= code < 400:  # noqa: PLR2004 - HTTP
            return KubeUnavailable(
                f"the cluster's address answers with a redirect ({code}); check the server URL", Outage.BROKEN
            )
        case _:
            return _invalid(status, said, attempt)


def _details(status: JsonObject) -> JsonObject:
    return as_object(status.get("details"))


def _causes(status: JsonObject) -> list[JsonObject]:
    return [as_object(cause) for cause in as_array(_details(status).get("causes"))[:20]]


def _quoted(said: str, attempt: Attempt) -> str:
    """The server's words as the end of a message; nothing for a Secret, whose values they may repeat."""
    return "" if attempt.secret or not said else f": {shown(said, _WORDS)}"


def _denied(status: JsonObject, said: str, attempt: Attempt) -> KubeError:
    if any(cause.get("reason") == "NamespaceTerminating" for cause in _causes(status)) or "being terminated" in said:
        return KubeTerminating(
            f"{attempt.what} cannot be applied while its namespace is being deleted; wait, or use another"
        )
    if "exceeded quota" in said:
        message = f"{attempt.what} does not fit into the quota of the namespace{_quoted(said, attempt)}"
        return KubeQuotaExceeded(message, verb=attempt.verb, resource=attempt.resource)
    place = f" in namespace {attempt.namespace}" if attempt.namespace else ""
    if " cannot " in said or not said:
        message = (
            f"the account may not {attempt.verb} {attempt.resource}{place}; "
            "grant it that right, or use credentials that have it"
        )
    else:
        message = f"a policy of the cluster refuses {attempt.what}{_quoted(said, attempt)}"
    return KubeDenied(message, verb=attempt.verb, resource=attempt.resource)


def _missing(status: JsonObject, attempt: Attempt) -> KubeError:
    details = _details(status)
    if details.get("kind") == "namespaces" and attempt.resource != "namespaces":
        name = shown(as_text(details.get("name")) or attempt.namespace or "")
        return KubeNotFound(f"the namespace {name} does not exist; create it, or add it to the manifests")
    return KubeNotFound(f"{attempt.what} does not exist in the cluster")


def _conflict(status: JsonObject, said: str, attempt: Attempt) -> KubeError:
    if "being deleted" in said or "being terminated" in said:
        return KubeTerminating(f"{attempt.what} is being deleted; wait until it is gone, then apply again")
    causes = [
        ConflictCause(_manager(as_text(cause.get("message"))), shown(as_text(cause.get("field")), 120))
        for cause in _causes(status)
        if cause.get("reason") == "FieldManagerConflict"
    ]
    if not causes:
        return KubeConflict(f"{attempt.what} was changed by somebody else in the meantime; try again")
    owned = ", ".join(f"{cause.field} is managed by {cause.manager}" for cause in causes[:5])
    more = f" and {len(causes) - 5} more" if len(causes) > 5 else ""  # noqa: PLR2004 - five are enough to see why
    return KubeConflict(
        f"{attempt.what} is partly managed by others: {owned}{more}; "
        "remove these fields from the manifest, or apply with force to take them over",
        causes,
    )


def _manager(message: str) -> str:
    match = _MANAGER.search(message)
    return shown(match.group(1)) if match else "another manager"


def _invalid(status: JsonObject, said: str, attempt: Attempt) -> KubeInvalid:
    causes = [
        InvalidCause(
            shown(as_text(cause.get("field")), 120),
            "" if attempt.secret else shown(as_text(cause.get("message")), _WORDS),
        )
        for cause in _causes(status)
    ]
    head = f"the cluster does not accept {attempt.what}"
    if not causes:
        return KubeInvalid(f"{head}{_quoted(said, attempt)}")
    faults = "; ".join(f"{cause.field}: {cause.message}" if cause.message else cause.field for cause in causes[:5])
    return KubeInvalid(f"{head}: {faults}", causes)


def _unavailable(answer: Answer, status: JsonObject, outage: Outage, what: str) -> KubeUnavailable:
    return KubeUnavailable(f"the cluster {what}; try again later", outage, retry_after=_retry_after(answer, status))


def _retry_after(answer: Answer, status: JsonObject) -> float | None:
    written = answer.retry_after
    if written is not None and written.isascii() and written.isdigit():
        return min(float(written), _RETRY_CEILING)
    seconds = _details(status).get("retryAfterSeconds")
    if isinstance(seconds, int) and seconds > 0:
        return min(float(seconds), _RETRY_CEILING)
    return None
