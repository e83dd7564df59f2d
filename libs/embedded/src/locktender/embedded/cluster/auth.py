"""Who is asking, and whether they may: bearer tokens and rules, from a table that tests can add to.

Only digests of tokens are kept. Expiry is compared with wall time, as a real server does with the claims of a token.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Literal

from locktender.contracts.kernel.clock import Clock
from locktender.embedded.cluster.refusal import bad_request, forbidden, unauthorized
from locktender.embedded.cluster.request import Target
from locktender.embedded.cluster.shapes import Obj, at, list_at, objs_at, text_at

ADMIN = "sandbox-admin"


@dataclass(frozen=True, slots=True)
class Rule:
    """Allows or denies. Empty lists and "*" match everything; the first rule that matches decides.

    `resources` are plurals, with the subresource behind a slash where one is meant: `pods`, `deployments/status`.
    """

    effect: Literal["allow", "deny"]
    verbs: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()
    resources: tuple[str, ...] = ()
    namespaces: tuple[str, ...] = ()
    names: tuple[str, ...] = ()

    def matches(self, target: Target) -> bool:
        resource = target.resource.plural
        if target.subresource:
            resource += f"/{target.subresource}"
        pairs = (
            (self.verbs, target.verb),
            (self.groups, target.resource.group),
            (self.resources, resource),
            (self.namespaces, target.namespace),
            (self.names, target.name),
        )
        return all(not wanted or "*" in wanted or found in wanted for wanted, found in pairs)


@dataclass(frozen=True, slots=True)
class Bearer:
    """The holder of a token.

    Attributes:
        allowed: what holds when no rule matches.
        expires_at: None for a token that does not expire.
    """

    user: str
    rules: tuple[Rule, ...] = ()
    allowed: bool = True
    admin: bool = False
    expires_at: datetime | None = None


@dataclass(slots=True)
class Tokens:
    """The tokens that are accepted."""

    clock: Clock
    _bearers: dict[str, Bearer] = field(default_factory=dict[str, Bearer])

    def add(self, digest: str, bearer: Bearer) -> None:
        """Accept the token with this digest; an earlier bearer of it is replaced."""
        self._bearers[digest] = bearer

    def bearer(self, authorization: str) -> Bearer:
        """The bearer behind an `Authorization` header.

        Raises:
            Refusal: 401 for no token, an unknown one and an expired one; which of them is not told.
        """
        scheme, _, token = authorization.partition(" ")
        found = self._bearers.get(digest_of(token.strip())) if scheme.lower() == "bearer" else None
        if found is None or (found.expires_at is not None and found.expires_at <= self.clock.now()):
            raise unauthorized()
        return found


def digest_of(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()


def is_allowed(bearer: Bearer, target: Target) -> bool:
    """Whether the bearer may do what the target says."""
    if bearer.admin:
        return True
    return next((rule.effect == "allow" for rule in bearer.rules if rule.matches(target)), bearer.allowed)


def authorize(bearer: Bearer, target: Target) -> None:
    """Pass, or refuse.

    Raises:
        Refusal: 403, worded as the real server does.
    """
    if is_allowed(bearer, target):
        return
    resource = target.resource
    plural = f"{resource.plural}/{target.subresource}" if target.subresource else resource.plural
    where = f'in the namespace "{target.namespace}"' if target.namespace else "at the cluster scope"
    why = f'User "{bearer.user}" cannot {target.verb} resource "{plural}" in API group "{resource.group}" {where}'
    raise forbidden(resource, target.name, why)


def bearer_from(entry: Obj, clock: Clock) -> Bearer:
    """Read one entry of the token table: `user`, `allowed`, `rules`, and `expiresAt` or `expiresIn` (seconds).

    Raises:
        Refusal: 400 for an entry that cannot be read.
    """
    try:
        expires_at = _expiry(entry, clock)
        rules = tuple(_rule(rule) for rule in objs_at(entry, "rules"))
    except (TypeError, ValueError):
        raise bad_request("the token entry cannot be read: check expiresAt, expiresIn and rules") from None
    user = text_at(entry, "user")
    if not user:
        raise bad_request("a token entry needs a user")
    return Bearer(user, rules, allowed=entry.get("allowed", True) is True, expires_at=expires_at)


def _expiry(entry: Obj, clock: Clock) -> datetime | None:
    if "expiresIn" in entry:
        return clock.now() + timedelta(seconds=float(entry["expiresIn"]))
    until = at(entry, "expiresAt")
    return datetime.fromisoformat(until) if until else None


def _rule(rule: Obj) -> Rule:
    effect = rule.get("effect")
    if effect not in ("allow", "deny"):
        raise ValueError(effect)
    return Rule(
        effect, *(_words(list_at(rule, name)) for name in ("verbs", "groups", "resources", "namespaces", "names"))
    )


def _words(values: Sequence[object]) -> tuple[str, ...]:
    return tuple(str(value) for value in values)
