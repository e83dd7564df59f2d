"""Trouble on demand: what tests ask the server to do wrong.

A rule matches requests by verb, kind, namespace, name and user, and acts on each until its count is used up. Rules are
tried in order and the first that matches decides. A rule with a `webhook` stands for an admission webhook instead: it
matches whatever is created or updated, by controllers too. Images are another table: pods whose image contains the
text behave as said, see `behaviour`.
"""

from dataclasses import dataclass, field

from locktender.embedded.cluster.refusal import Refusal, bad_request
from locktender.embedded.cluster.request import Target
from locktender.embedded.cluster.resources import Resource
from locktender.embedded.cluster.shapes import Obj, name_of, namespace_of, obj_at, objs_at, text_at

_REASONS = {
    400: "BadRequest",
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
        reset: the same by a TCP reset, as a firewall or a dying host does.
        cut: send the first half of the answer, then close. In a watch: half a line, after `events` whole ones.
        after: for `status`, `drop`, `reset` and `cut`: only after the effect of the request took place.
        silent: accept, send the head of the answer and then nothing at all, for as long as the client stays. In a
            watch after `events` events; not even bookmarks are sent.
        events: how many events a watch still delivers before `silent`, `cut` or `ends` holds; 0 for none.
        ends: end a watch properly after `events` events, though nobody asked for its end.
        trickle: bytes per second at which the answer is sent; 0 for at once.
        webhook: name of a webhook that denies with `message`; `status` is then 400 unless said. `verb` is `create`
            or `update`, and `user` means nothing.
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
    reset: bool = False
    cut: bool = False
    after: bool = False
    silent: bool = False
    events: int = 0
    ends: bool = False
    trickle: float = 0.0
    webhook: str = ""
    count: int = -1
    hits: int = 0

    def matches(self, target: Target, user: str) -> bool:
        """Whether the rule is about a request."""
        if self.webhook or (self.user and self.user != user):
            return False
        return self._is_about(target.verb, target.resource.plural, target.namespace, target.name)

    def denies(self, verb: str, resource: Resource, obj: Obj) -> bool:
        """Whether the rule is a webhook that denies the writing of an object."""
        return bool(self.webhook) and self._is_about(verb, resource.plural, namespace_of(obj), name_of(obj))

    def _is_about(self, *found: str) -> bool:
        wanted = (self.verb, self.resource, self.namespace, self.name)
        return self.count != 0 and all(not said or said == is_ for said, is_ in zip(wanted, found, strict=True))

    def take(self) -> None:
        """Count a request that the rule decides about."""
        self.hits += 1
        self.count -= self.count > 0

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
                rule.take()
                return rule
        return None

    def judge(self, resource: Resource, before: Obj | None, after: Obj) -> None:
        """Pass a write, or deny it as the first webhook rule does that is about it.

        Raises:
            Refusal: in the words of the real server.
        """
        verb = "create" if before is None else "update"
        for rule in self.rules:
            if rule.denies(verb, resource, after):
                rule.take()
                message = f'admission webhook "{rule.webhook}" denied the request: {rule.message}'
                code = rule.status or 400
                raise Refusal(code, _REASONS.get(code, ""), message)

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
