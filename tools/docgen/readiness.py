"""When is an object ready? The table of kinds, and the patience that trouble is given, from where they are declared."""

from collections.abc import Iterable

from locktender.contracts.deployments.cards import Grace
from locktender.contracts.deployments.patience import Patience
from locktender.contracts.deployments.readiness import READINESS_ANNOTATION
from locktender.contracts.deployments.readiness.kinds import AT_ONCE, BY_CONDITIONS, RULES
from locktender.contracts.deployments.readiness.rule import Rule

_CURRENT = (
    "A status or condition that speaks of an earlier generation never counts, neither for ready nor for failed. "
    "An object that is being deleted is not ready."
)
_WISHES = (
    f"The annotation `{READINESS_ANNOTATION}` on an object overrides the last column: `required` makes a "
    "deployment wait for it, `optional` shows it without waiting, and `ignore` takes it as it is stored."
)
_DEADLINES = (
    "An object that has a deadline of its own (`progressDeadlineSeconds`, `activeDeadlineSeconds`) is not given "
    "ours, and one that a deployment does not wait for has none."
)


def readiness_page() -> str:
    """The page for people who want to know what a deployment waits for."""
    kinds = [_row(_kinds(rule), rule) for rule in RULES]
    kinds += [_row("other kinds of Kubernetes itself", AT_ONCE), _row("all other kinds", BY_CONDITIONS)]
    fields = Patience.model_fields
    graces = [_patience(grace.value) for grace in Grace]
    others = [_patience(name) for name in fields if name not in set(Grace)]
    return "\n\n".join([
        "# Readiness",
        _CURRENT,
        _WISHES,
        _table(("kind", "ready when", "fails on", "waits for", "a deployment waits for it"), kinds),
        "## Patience with trouble",
        "Trouble fails an object once it has lasted for this long without a break. Settings of the runner, in seconds.",
        _table(("trouble", "setting", "default"), graces),
        "## Other limits",
        _DEADLINES,
        _table(("limit", "setting", "default"), others),
    ]) + "\n"  # fmt: skip


def _kinds(rule: Rule) -> str:
    group = f" ({rule.group})" if rule.group else ""
    return ", ".join(f"`{kind}`" for kind in rule.kinds) + group


def _row(name: str, rule: Rule) -> str:
    required = f"no: {rule.optional}" if rule.optional else "yes"
    cells = (name, rule.ready, rule.fails or "-", rule.waits or "-", required)
    return f"| {' | '.join(cells)} |"


def _patience(name: str) -> str:
    field = Patience.model_fields[name]
    return f"| {field.description} | `{name}` | {field.default:g} |"


def _table(head: tuple[str, ...], rows: Iterable[str]) -> str:
    return "\n".join([f"| {' | '.join(head)} |", "|" + "---|" * len(head), *rows])
