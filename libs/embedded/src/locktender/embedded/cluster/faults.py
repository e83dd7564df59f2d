"""Trouble on demand: what tests ask the server to do wrong.

A rule matches requests by verb, kind, namespace, name and user, and acts on each until its count is used up. Rules are
tried in order and the first that matches decides. Images are another table: pods whose image contains the text behave
as said, see `behaviour`.
"""

from dataclasses import dataclass, field

from locktender.embedded.cluster.refusal import Refusal, bad_request
from locktender.embedded.cluster.request import Target
from locktender.embedded.cluster.shapes import Obj, obj_at, objs_at, text_at

_REASONS = {
    401: "Unauthorized",
    403: "Forbidden",
    404: "NotFound",
    409: "Conflict",
    410: "Expired",
    422: "Invalid",
    429: "TooManyRequests",
    500: "InternalError",
    503: "ServiceUnavailable",
    504: "Timeout",
}


@dataclass(slots=True)
class Fault:
    """One rule.

    Attributes:
        verb, resource, namespace, name, user: what it matches; "" is anything. `resource` is a plural.
        status: answer with this HTTP status and do nothing else; 0 for none.
        retry_after: seconds, sent as `Retry-After` with the status; 0 for none.
        latency: seconds to wait before anything happens.
        drop: close the connection without an answer.
        cut: send the first half of the answer, then close.
        after: for `status`, `drop` and `cut`: only after the effect of the request took place.
        count: how many requests it still hits; below zero for all of them.
    """

    verb: str = ""
    resource: str = ""
    namespace: str = ""
    name: str = ""
    user: str = ""
    status: int = 0
    message: str = "injected by a fault rule"
    retry_after: int = 0
    latency: float = 0.0
    drop: bool = False
    cut: bool = False
    after: bool = False
    count: int = -1
    hits: int = 0

    def matches(self, target: Target, user: str) -> bool:
        pairs = (
            (self.verb, target.verb),
            (self.resource, target.resource.plural),
            (self.namespace, target.namespace),
            (self.name, target.name),
            (self.user, user),
        )
        return self.count != 0 and all(not wanted or wanted == found for wanted, found in pairs)

    def refusal(self) -> Refusal | None:
        """The refusal that `status` asks for."""
        if not self.status:
            return None
        details: Obj = {"retryAfterSeconds": self.retry_after} if self.retry_after else {}
        headers = {"retry-after": str(self.retry_after)} if self.retry_after else {}
        reason = _REASONS.get(self.status, "")
        return Refusal(self.status, reason, self.message, details=details, headers=headers)


@dataclass(slots=True)
class Faults:
    """The fault table."""

    rules: list[Fault] = field(default_factory=list[Fault])
    images: dict[str, str] = field(default_factory=dict[str, str])

    def hit(self, target: Target, user: str) -> Fault | None:
        """The rule that decides about a request, counted."""
        for rule in self.rules:
            if rule.matches(target, user):
                rule.hits += 1
                rule.count -= rule.count > 0
                return rule
        return None

    def replace(self, table: Obj) -> None:
        """Take over a new table: `{"rules": [...], "images": {"text": "behaviour"}}`.

        Raises:
            Refusal: 400 for a field that a rule does not have.
        """
        try:
            rules = [Fault(**rule) for rule in objs_at(table, "rules")]
        except TypeError:
            raise bad_request("a fault rule has a field that is not known") from None
        self.rules = rules
        self.images = {name: text_at(obj_at(table, "images"), name) for name in obj_at(table, "images")}

    def clear(self) -> None:
        self.rules = []
        self.images = {}

    def table(self) -> Obj:
        """The rules with their remaining counts and hits so far."""
        names = Fault.__slots__
        return {
            "rules": [{name: getattr(rule, name) for name in names} for rule in self.rules],
            "images": dict(self.images),
        }
