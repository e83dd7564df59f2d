"""Rows of the truth table of readiness, and the objects they are made of: what a cluster says, in few words."""

from dataclasses import dataclass
from typing import Any

from locktender.contracts.deployments.cards import CardStatus
from locktender.contracts.deployments.observed import NOTHING, Related
from locktender.contracts.deployments.readiness import assess

Body = dict[str, Any]
_ONE_LINE = 300


@dataclass(frozen=True)
class Row:
    """One line of the table: for this object, this verdict.

    Attributes:
        words: what the message has to say, among others.
        hint: what the hint has to say; None when nothing is asked of it.
    """

    id: str
    body: Body
    status: CardStatus
    reason: str
    words: str = ""
    hint: str | None = None
    related: Related = NOTHING

    def __str__(self) -> str:
        return self.id

    def check(self) -> None:
        """Assert that the verdict is this one, in a line that a person can read."""
        verdict = assess(self.body, self.related)
        assert (verdict.status, verdict.reason) == (self.status, self.reason), verdict
        assert self.words in verdict.message, verdict.message
        assert verdict.message
        assert "\n" not in verdict.message
        assert len(verdict.message) <= _ONE_LINE
        if self.hint is not None:
            assert self.hint in (verdict.hint or ""), verdict.hint


def obj(api: str, kind: str, spec: Body | None = None, status: Body | None = None, **metadata: Any) -> Body:
    """An object of the second generation, named `web`."""
    return {
        "apiVersion": api,
        "kind": kind,
        "metadata": {"name": "web", "namespace": "shop", "generation": 2} | metadata,
        "spec": spec or {},
        "status": status or {},
    }


def cond(kind: str, status: str = "True", reason: str = "R", message: str = "", *, seen: int | None = None) -> Body:
    """A condition, which may say of which generation it speaks."""
    said: Body = {"type": kind, "status": status, "reason": reason, "message": message}
    return said if seen is None else said | {"observedGeneration": seen}


def pod(name: str = "web-1", *statuses: Body, init: tuple[Body, ...] = (), **status: Any) -> Body:
    """A pod as a list shows it, without a kind: pending, and with containers as `waiting` and its like make them."""
    return {
        "metadata": {"name": name, "namespace": "shop", "labels": {}},
        "spec": {"containers": [{"name": "app", "image": "shop:2"}], "restartPolicy": "Always"},
        "status": {"phase": "Pending", "containerStatuses": [*statuses], "initContainerStatuses": [*init]} | status,
    }


def waiting(reason: str, message: str = "", /, *, restarts: int = 0, name: str = "app", **last: Any) -> Body:
    """A container that waits, and how it ended before."""
    state = {"waiting": {"reason": reason, "message": message}}
    return container(state, restarts=restarts, name=name, ready=False, **last)


def running(*, restarts: int = 0, name: str = "app", ready: bool = True, **last: Any) -> Body:
    """A container that runs, and how it ended before."""
    return container(
        {"running": {"startedAt": "2026-01-01T00:00:00Z"}}, restarts=restarts, name=name, ready=ready, **last
    )


def ended(exit_code: int, *, restarts: int = 0, name: str = "app", **more: Any) -> Body:
    """A container that has ended."""
    state = {"terminated": {"exitCode": exit_code, "reason": "Error" if exit_code else "Completed"} | more}
    return container(state, restarts=restarts, name=name, ready=False)


def container(state: Body, *, restarts: int, name: str, ready: bool, **last: Any) -> Body:
    """The status of a container."""
    return {
        "name": name,
        "image": "shop:2",
        "ready": ready,
        "restartCount": restarts,
        "state": state,
        "lastState": {"terminated": last} if last else {},
    }


def event(reason: str, message: str = "", *, kind: str = "Pod", name: str = "web-1", **more: Any) -> Body:
    """A warning about an object; about the first pod if nothing else is said."""
    whom = {"kind": kind, "name": name, "namespace": "shop"}
    return {"type": "Warning", "reason": reason, "message": message, "involvedObject": whom} | more
