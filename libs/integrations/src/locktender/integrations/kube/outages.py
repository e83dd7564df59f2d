"""No usable answer: servers that are busy or broken, webhooks that do not answer, and connections that fail."""

import re
import socket
import ssl

from locktender.integrations.kube.answers import Answer, Refused, one_line
from locktender.integrations.kube.errors import KubeUnavailable, Outage
from locktender.integrations.kube.faults import shown

_RETRY_CEILING = 300.0
_WEBHOOK = re.compile(r'failed calling webhook "([^"]{1,253})": (.*)', re.DOTALL)
_CONVERSION = re.compile(r"conversion webhook for (\S{1,200}, Kind=\w{1,63}) failed: (.*)", re.DOTALL)
_CAUSES_DEEP = 10
# What a server says is wrong with itself or with what it has to ask, by words that it says it with.
_INSIDE = (
    (("etcdserver: leader changed",), "its store has just changed its leader"),
    (("etcdserver: mvcc: database space exceeded",), "its store is full"),
    (("etcdserver: request timed out", "etcdserver: too many requests", "etcdserver: no leader"), "its store is slow"),
    (("resource quota evaluation timed out",), "it could not check the quotas in time"),
    (("request did not complete within",), "it did not finish in time"),
    (("apiserver is shutting down",), "it is shutting down"),
    (("storage is (re)initializing",), "it is still starting"),
    (("currently unable to handle the request",), "the service behind this API does not answer"),
)
_SILENCE = (
    ("connection refused", "connection refused"),
    ("no endpoints available", "its service has no pods that are ready"),
    ("deadline exceeded", "no answer in time"),
    ("x509", "its certificate is not trusted"),
    ("no such host", "its host name is not known"),
    ("not found", "its service does not exist"),
    ("connection reset", "the connection broke"),
    ("EOF", "the connection broke"),
)


def busy(refused: Refused, answer: Answer) -> KubeUnavailable:
    """408 and 429."""
    wait = retry_after(answer, refused)
    asked = f"; it asks to wait {wait:g} s" if wait else ""
    return KubeUnavailable(
        f"the cluster is busy{asked}",
        Outage.OVERLOADED,
        retry_after=wait,
        hint="try again later; if it lasts, deploy less at a time or ask who runs the cluster",
    )


def broken_server(refused: Refused, answer: Answer) -> KubeUnavailable:
    """5xx."""
    wait = retry_after(answer, refused)
    for pattern, what in ((_WEBHOOK, "admission webhook"), (_CONVERSION, "conversion webhook for")):
        silent = pattern.search(refused.said)
        if silent is not None:
            who, why = shown(silent.group(1), 253), _why(refused, silent.group(2))
            return KubeUnavailable(
                f"{refused.attempt.what} waits for the {what} {who} of the cluster, which does not answer{why}",
                Outage.WEBHOOK,
                retry_after=wait,
                hint="start what serves the webhook, or remove its configuration, then deploy again",
            )
    asked = f"the request to {refused.attempt.verb} {refused.attempt.what}"
    if not answer.json():
        who = "a proxy or load balancer before the cluster" if answer.is_page else "the cluster"
        return _internal(f"{who} answered {asked} with an internal error ({answer.code})", wait)
    why = next((words for signs, words in _INSIDE if any(sign in refused.said for sign in signs)), "")
    told = f"the cluster answered {asked} with an internal error ({answer.code})"
    return _internal(f"{told}: {why}" if why else told, wait)


def _internal(message: str, wait: float | None) -> KubeUnavailable:
    hint = "try again later; if it lasts, ask who runs the cluster"
    return KubeUnavailable(message, Outage.SERVER_ERROR, retry_after=wait, hint=hint)


def page(answer: Answer) -> KubeUnavailable:
    """A web page where a `Status` should be."""
    return KubeUnavailable(
        f"a web page came back instead of the cluster's answer ({answer.code}), as proxies send it",
        Outage.BROKEN,
        hint="check the server URL of the kubeconfig, and proxies and logins on the way to it",
    )


def redirect(answer: Answer) -> KubeUnavailable:
    """3xx. It is never followed: the credentials are for one address."""
    return KubeUnavailable(
        f"the cluster's address answers with a redirect ({answer.code})",
        Outage.BROKEN,
        hint="check the server URL of the kubeconfig: https, host, port and path",
    )


def not_json() -> KubeUnavailable:
    """A success without an object in it."""
    return KubeUnavailable(
        "the cluster's answer is not JSON", Outage.BROKEN, hint="check the server URL of the kubeconfig"
    )


def retry_after(answer: Answer, refused: Refused) -> float | None:
    """Seconds that the server asks to wait, within reason."""
    written = answer.retry_after
    if written is not None and written.isascii() and written.isdigit():
        return min(float(written), _RETRY_CEILING)
    seconds = refused.details.get("retryAfterSeconds")
    if isinstance(seconds, int) and seconds > 0:
        return min(float(seconds), _RETRY_CEILING)
    return None


def _why(refused: Refused, said: str) -> str:
    """Why a webhook could not be asked, in few words: its address and its certificate are nobody's concern."""
    known = next((words for sign, words in _SILENCE if sign in said), "")
    return f": {known}" if known else refused.quoted(said.rpartition(": ")[2])


def timed_out() -> KubeUnavailable:
    """Nothing came in time."""
    return KubeUnavailable(
        "the cluster did not answer in time",
        Outage.TIMEOUT,
        hint="check its address, and whether a firewall lets the runner reach it",
    )


def broken_off() -> KubeUnavailable:
    """The connection ended within a request or an answer."""
    return KubeUnavailable(
        "the connection to the cluster broke", Outage.BROKEN, hint="try again; if it lasts, check proxies on the way"
    )


def not_connected(error: BaseException) -> KubeUnavailable:
    """A connection that could not be made, by the error that says so and by those that caused it."""
    cause: BaseException | None = error
    for _ in range(_CAUSES_DEEP):
        known = None if cause is None else _by_cause(cause)
        if known is not None:
            return known
        if cause is None:
            break
        cause = cause.__cause__ or cause.__context__
    return KubeUnavailable("the cluster cannot be reached", Outage.UNREACHABLE, hint="check its address and network")


def _by_cause(cause: BaseException) -> KubeUnavailable | None:
    match cause:
        case ssl.SSLCertVerificationError():
            return KubeUnavailable(
                f"the cluster's certificate is not trusted ({one_line(cause.verify_message, 200)})",
                Outage.TLS,
                hint="check certificate-authority-data and the server's name in the kubeconfig",
            )
        case ssl.SSLError():
            return KubeUnavailable(
                "the TLS connection to the cluster failed",
                Outage.TLS,
                hint="check that the address speaks https, and the client certificate of the kubeconfig",
            )
        case socket.gaierror():
            return KubeUnavailable(
                "the host name of the cluster is not known",
                Outage.UNREACHABLE,
                hint="check the server URL of the kubeconfig, and that the runner can resolve the name",
            )
        case ConnectionRefusedError():
            return KubeUnavailable(
                "the cluster refuses connections",
                Outage.UNREACHABLE,
                hint="check host and port of the server URL, and that the API server runs",
            )
        case _:
            return None
