"""The paths below `/sandbox`, for the administrator alone: faults, the ledger, tokens, compaction, reset."""

from collections.abc import Callable
from dataclasses import dataclass

from locktender.embedded.cluster.auth import Bearer, bearer_from, digest_of
from locktender.embedded.cluster.calls import Answer
from locktender.embedded.cluster.cluster import Cluster
from locktender.embedded.cluster.refusal import Refusal, bad_request, method_not_allowed, no_such_path
from locktender.embedded.cluster.shapes import Obj, text_at

KeepToken = Callable[[str, Obj], None]


def serve_sandbox(
    cluster: Cluster, bearer: Bearer, method: str, path: str, query: dict[str, str], body: Obj, keep: KeepToken
) -> Answer:
    """Answer one request.

    `GET|PUT|DELETE /sandbox/faults`, `GET|DELETE /sandbox/ledger[?since=N]`, `POST /sandbox/tokens`,
    `POST /sandbox/compact`, `POST /sandbox/reset`.

    Raises:
        Refusal: 403 for anybody but the administrator, 400, 404 and 405.
    """
    if not bearer.admin:
        why = f'forbidden: User "{bearer.user}" cannot {method.lower()} path "{path}"'
        raise Refusal(403, "Forbidden", why)
    place = path.removeprefix("/sandbox/").rstrip("/")
    if not any(place == known for known, _ in _PLACES):
        raise no_such_path()
    serving = _PLACES.get((place, method))
    if serving is None:
        raise method_not_allowed()
    return serving(_Asked(cluster, query, body, keep))


@dataclass(frozen=True, slots=True)
class _Asked:
    cluster: Cluster
    query: dict[str, str]
    body: Obj
    keep: KeepToken


def _faults(asked: _Asked) -> Answer:
    return Answer(200, asked.cluster.faults.table())


def _set_faults(asked: _Asked) -> Answer:
    asked.cluster.faults.replace(asked.body)
    return _faults(asked)


def _clear_faults(asked: _Asked) -> Answer:
    asked.cluster.faults.clear()
    return _faults(asked)


def _ledger(asked: _Asked) -> Answer:
    since = asked.query.get("since", "0")
    return Answer(200, {"entries": asked.cluster.ledger.entries(since=int(since) if since.isdigit() else 0)})


def _clear_ledger(asked: _Asked) -> Answer:
    asked.cluster.ledger.clear()
    return Answer(200, {"entries": []})


def _compact(asked: _Asked) -> Answer:
    return Answer(200, {"oldest": asked.cluster.store.compact()})


def _reset(asked: _Asked) -> Answer:
    asked.cluster.reset()
    return Answer(200, {"resourceVersion": str(asked.cluster.store.version)})


def _add_token(asked: _Asked) -> Answer:
    cluster, body = asked.cluster, asked.body
    token = text_at(body, "token")
    if len(token) < 16:  # noqa: PLR2004 - short enough to be guessed
        raise bad_request("a token has at least 16 characters")
    bearer = bearer_from(body, cluster.clock)
    digest = digest_of(token)
    cluster.tokens.add(digest, bearer)
    entry: Obj = {name: value for name, value in body.items() if name in ("user", "allowed", "rules")}
    if bearer.expires_at is not None:
        entry["expiresAt"] = bearer.expires_at.isoformat()
    asked.keep(digest, entry)
    return Answer(201, {"user": bearer.user})


_PLACES: dict[tuple[str, str], Callable[[_Asked], Answer]] = {
    ("faults", "GET"): _faults,
    ("faults", "PUT"): _set_faults,
    ("faults", "DELETE"): _clear_faults,
    ("ledger", "GET"): _ledger,
    ("ledger", "DELETE"): _clear_ledger,
    ("tokens", "POST"): _add_token,
    ("compact", "POST"): _compact,
    ("reset", "POST"): _reset,
}
