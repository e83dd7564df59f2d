"""From an HTTP answer that is not a success to a typed refusal."""

import re
from collections.abc import Callable

from locktender.integrations.kube.answers import Answer, Attempt, Refused, refused
from locktender.integrations.kube.denials import denial, policy_denial, terminating_namespace
from locktender.integrations.kube.errors import (
    ConflictCause,
    KubeConflict,
    KubeError,
    KubeNotFound,
    KubeTerminating,
    KubeUnauthorized,
    WatchExpired,
)
from locktender.integrations.kube.faults import shown
from locktender.integrations.kube.json_value import as_text
from locktender.integrations.kube.outages import broken_server, busy, page, redirect
from locktender.integrations.kube.rejections import is_rejection, readable, rejection

__all__ = ["Answer", "Attempt", "refusal"]

_MANAGER = re.compile(r'conflict with "([^"]{1,200})"(?: with subresource "([^"]{1,60})")?')
_FIELDS_SHOWN = 5
_REDIRECT, _CLIENT_ERROR, _SERVER_ERROR = 300, 400, 500


def refusal(answer: Answer, attempt: Attempt) -> KubeError:
    """The error that `answer` amounts to."""
    told = refused(answer, attempt)
    denied = policy_denial(told)
    if denied is not None:
        return denied
    if answer.is_page and answer.code < _SERVER_ERROR and answer.code not in {401, 413, 429}:
        return page(answer)
    code = answer.code
    if code in {408, 429}:
        return busy(told, answer)
    if code >= _SERVER_ERROR and not is_rejection(told):
        return broken_server(told, answer)
    if _REDIRECT <= code < _CLIENT_ERROR:
        return redirect(answer)
    return _BY_CODE.get(code, rejection)(told)


def _unauthorized(_: Refused) -> KubeError:
    return KubeUnauthorized(
        "the cluster does not accept the credentials; the token is wrong or has expired",
        hint="deploy again with a fresh kubeconfig",
    )


def _expired(told: Refused) -> KubeError:
    return WatchExpired(f"the cluster no longer has the changes of {told.attempt.what} that were asked for")


def _missing(told: Refused) -> KubeError:
    attempt = told.attempt
    if told.details.get("kind") == "namespaces" and attempt.resource != "namespaces":
        name = shown(as_text(told.details.get("name")) or attempt.namespace or "")
        return KubeNotFound(f"the namespace {name} does not exist", hint="create it, or add it to the manifests")
    return KubeNotFound(f"{attempt.what} does not exist in the cluster")


def _conflict(told: Refused) -> KubeError:
    what = told.attempt.what
    if "being terminated" in told.said:
        return terminating_namespace(told)
    if "being deleted" in told.said:
        return KubeTerminating(f"{what} is being deleted", hint="wait until it is gone, then deploy again")
    causes = [
        ConflictCause(_manager(as_text(cause.get("message"))), readable(as_text(cause.get("field"))))
        for cause in told.causes
        if cause.get("reason") == "FieldManagerConflict"
    ]
    if causes:
        return _owned(what, causes)
    return _moved(what, told)


def _moved(what: str, told: Refused) -> KubeConflict:
    if told.reason == "AlreadyExists" or "already exists" in told.said:
        return KubeConflict(f"{what} exists already", hint="deploy again, which takes it as it is")
    if "in precondition" in told.said:
        return KubeConflict(f"{what} was deleted and created anew by somebody else", hint="deploy again")
    if 'on resourcequotas "' in told.said:
        return KubeConflict(f"the quota changed while {what} was checked against it", hint="deploy again")
    return KubeConflict(
        f"{what} was changed by somebody else in the meantime", hint="look at what they changed, then deploy again"
    )


def _owned(what: str, causes: list[ConflictCause]) -> KubeConflict:
    owned = ", ".join(f"{cause.field} is managed by {cause.manager}" for cause in causes[:_FIELDS_SHOWN])
    more = f" and {len(causes) - _FIELDS_SHOWN} more" if len(causes) > _FIELDS_SHOWN else ""
    return KubeConflict(
        f"{what} is partly managed by others: {owned}{more}",
        causes,
        hint="remove these fields from the manifest, or deploy with force to take them over",
    )


def _manager(message: str) -> str:
    match = _MANAGER.search(message)
    if match is None:
        return "another manager"
    return shown(match.group(1)) + (f" (through {shown(match.group(2))})" if match.group(2) else "")


_BY_CODE: dict[int, Callable[[Refused], KubeError]] = {
    401: _unauthorized,
    403: denial,
    404: _missing,
    409: _conflict,
    410: _expired,
}
