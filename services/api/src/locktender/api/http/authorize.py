"""Who may do what. Pure, closed by default, and the only place that decides."""

from collections.abc import Collection
from dataclasses import dataclass
from enum import StrEnum
from fnmatch import fnmatchcase

ANY = "*"


class Kind(StrEnum):
    """What can be acted on."""

    DEPLOYMENT_TASK = "deployment-task"
    TEMPLATE = "template"
    STACK = "stack"
    RUNNER_GROUP = "runner-group"


class Verb(StrEnum):
    """What can be done."""

    CREATE = "create"
    READ = "read"
    LIST = "list"
    WATCH = "watch"
    CANCEL = "cancel"
    SUBMIT = "submit"
    """Answer what a task asks for."""
    PLACE = "place"
    UPDATE = "update"
    DELETE = "delete"
    DEPLOY = "deploy"
    CONFIRM = "confirm"
    """Approve, replan or skip."""
    PREVIEW = "preview"
    PRIORITIZE = "prioritize"
    LOCAL_DEPLOY = "local-deploy"
    """Plan one's own working tree."""
    RUN_COMMAND = "run-command"
    """Run any script with the credentials of a stack. Dangerous."""
    READ_STATE = "read-state"
    WRITE_STATE = "write-state"


class Decision(StrEnum):
    """The answer."""

    ALLOWED = "allowed"
    FORBIDDEN = "forbidden"
    """The workspace may be known to exist, the act is not allowed."""
    HIDDEN = "hidden"
    """The workspace is not theirs: it looks as if it did not exist."""


@dataclass(frozen=True, slots=True)
class Grant:
    """Some verbs on some resources of one workspace.

    Attributes:
        workspace: its name, or `*` for every one.
        kind: a kind, or `*`.
        name: a pattern for the name of the project that the resource belongs to; `*` stands for any text.
        verbs: what is allowed; `*` among them is everything.
    """

    workspace: str
    kind: str
    name: str
    verbs: frozenset[str]


@dataclass(frozen=True, slots=True)
class Principal:
    """Somebody who proved who they are."""

    name: str
    grants: tuple[Grant, ...]


def authorize(principal: Principal, workspace: str, kind: Kind, verb: Verb, name: str | None = None) -> Decision:
    """Whether `principal` may do this. Without a name, only a grant on every name allows it."""
    inside = [grant for grant in principal.grants if grant.workspace in {ANY, workspace}]
    if not inside:
        return Decision.HIDDEN
    allowed = any(
        grant.kind in {ANY, kind}
        and not grant.verbs.isdisjoint({ANY, verb})
        and (grant.name == ANY if name is None else fnmatchcase(name, grant.name))
        for grant in inside
    )
    return Decision.ALLOWED if allowed else Decision.FORBIDDEN


def scope(principal: Principal, workspace: str, kind: Kind, verbs: Collection[Verb]) -> tuple[str, ...] | None:
    """On which names `principal` may do any of `verbs`, as patterns. None: the workspace is hidden from them."""
    inside = [grant for grant in principal.grants if grant.workspace in {ANY, workspace}]
    if not inside:
        return None
    wanted = {ANY, *verbs}
    names = [grant.name for grant in inside if grant.kind in {ANY, kind} and not grant.verbs.isdisjoint(wanted)]
    return tuple(dict.fromkeys(names))
